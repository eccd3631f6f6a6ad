import { AppError } from '../../core/errors.ts';
import { type ImportRequest, importDocument } from '../../core/import/import.ts';
import type { SpecImport } from '../../core/resources/spec.ts';

/** Saves nothing; throws validation, with paths into the body. */
export async function importSpec(request: ImportRequest): Promise<SpecImport> {
  try {
    const { spec, report } = await importDocument(request);
    return { spec, report: [...report] };
  } catch (error) {
    if (!(error instanceof AppError) || error.issues === undefined) throw error;
    const issues = error.issues.map((issue) => ({
      ...issue,
      path: ['document', issue.path].filter(Boolean).join('.'),
    }));
    throw new AppError(error.code, error.message, { issues, cause: error });
  }
}
