import { setImmediate } from 'node:timers/promises';
import pLimit from 'p-limit';
import { AppError } from '../../core/errors.ts';
import { type ImportRequest, importDocument } from '../../core/import/import.ts';
import type { SpecImport } from '../../core/resources/spec.ts';

/** Reading a text takes a quarter of a second at worst: one after the other, so that requests of others come in between. */
const oneAtATime = pLimit(1);

/** Converts the document of a request; nothing is saved. Throws validation, with paths into the body. */
export async function importSpec(request: ImportRequest): Promise<SpecImport> {
  try {
    const { spec, report } = await oneAtATime(async () => {
      await setImmediate();
      return await importDocument(request);
    });
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
