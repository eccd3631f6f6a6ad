import { AppError, type Issue } from '../core/errors.ts';

export const exitCodes = {
  ok: 0,
  /** An invalid spec, a failing test, a failed run, or a rejected request. */
  wrong: 1,
  /** The command line is not understood, or a file cannot be read. */
  usage: 2,
  /** The service cannot be reached, or rejects the API key. */
  service: 3,
  /** The environment or the file of profiles has issues; every process of this project uses this code. */
  config: 78,
  /** Ctrl-C, as shells count it. */
  interrupted: 130,
} as const;

interface CommandErrorOptions {
  readonly issues?: readonly Issue[] | undefined;
  readonly cause?: unknown;
}

/** The message says why and what to do next, and shows no secret. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: number;
  readonly code: string;
  readonly issues: readonly Issue[] | undefined;

  constructor(exitCode: number, code: string, message: string, { issues, cause }: CommandErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.exitCode = exitCode;
    this.code = code;
    this.issues = issues;
  }
}

export const usageError = (message: string, cause?: unknown): CommandError =>
  new CommandError(exitCodes.usage, 'usage', message, { cause });

export async function shownError(error: unknown): Promise<CommandError> {
  if (error instanceof CommandError) return error;
  if (error instanceof AppError) {
    return new CommandError(exitCodes.wrong, error.code, error.message, { issues: error.issues });
  }
  const { explainError } = await import('../admin/explain-error.ts');
  const isConfig = error instanceof Error && error.name === 'ConfigError';
  return isConfig
    ? new CommandError(exitCodes.config, 'config', explainError(error))
    : new CommandError(exitCodes.wrong, 'internal', explainError(error));
}
