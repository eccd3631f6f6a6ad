import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type ServiceProcess, startServiceProcess } from '../support/service/service-process.ts';

/** An unpacked image, whose commands run as in a hardened container: `deploy/verify/in-image.sh`. */
export interface UnpackedImage {
  /** Runs a command of the image to its end. */
  run(command: readonly string[], env?: NodeJS.ProcessEnv): Promise<Ended>;
  /** Starts `connector-sync <name>`. */
  start(name: 'api' | 'worker', env: NodeJS.ProcessEnv): ServiceProcess;
}

/** What a command left behind. */
interface Ended {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

const shell = fileURLToPath(new URL('../../deploy/verify/in-image.sh', import.meta.url));

/**
 * The image of IMAGE_ROOT, the folder it is unpacked in, with the variables of IMAGE_ENV, a JSON list of `NAME=value`, and
 * none of ours.
 */
export function unpackedImage(): UnpackedImage {
  const root = process.env['IMAGE_ROOT'];
  if (!root) throw new Error('IMAGE_ROOT is not set: run deploy/verify.sh, which unpacks the image');
  const variables: readonly string[] = JSON.parse(process.env['IMAGE_ENV'] ?? '[]');
  const own = Object.fromEntries(variables.map((text) => [text.slice(0, text.indexOf('=')), valueOf(text)]));
  const argsOf = (command: readonly string[]) => [shell, root, ...command];
  return {
    async run(command, env = {}) {
      const options = { env: { ...own, ...env }, timeout: 60_000 };
      try {
        return { exitCode: 0, ...(await promisify(execFile)('sh', argsOf(command), options)) };
      } catch (error) {
        if (!isEnded(error)) throw error;
        return { exitCode: error.code, stdout: error.stdout, stderr: error.stderr };
      }
    },
    start: (name, env) =>
      startServiceProcess({
        name,
        command: 'sh',
        args: argsOf(['tini', '-s', '--', 'connector-sync', name]),
        env: { ...own, ...env },
        watchesParent: true,
      }),
  };
}

const valueOf = (text: string): string => text.slice(text.indexOf('=') + 1);

const isEnded = (error: unknown): error is Error & { code: number; stdout: string; stderr: string } =>
  error instanceof Error && 'code' in error && typeof error.code === 'number';
