import { expect, vi } from 'vitest';
import { diagnose } from '../../../src/admin/doctor/doctor.ts';
import type { Finding } from '../../../src/admin/doctor/finding.ts';
import { loadConfig } from '../../../src/config/config.ts';

/** What the doctor found. */
export interface Diagnosis {
  readonly exitCode: number;
  /** The findings that are not `ok`, by check; the first of each. */
  readonly findings: Readonly<Record<string, Finding>>;
}

/**
 * What the doctor says in an environment. It says it in this process, as a process of its own takes 0.6 s of CPU for each
 * of thirty questions; what the command makes of it is tested by itself.
 */
export async function consulted(env: NodeJS.ProcessEnv): Promise<Awaited<ReturnType<typeof diagnose>>> {
  try {
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
    return await diagnose(async () => {
      const config = loadConfig(process.env);
      return { ...config, databaseUrl: config.databaseUrl ?? '' };
    });
  } finally {
    vi.unstubAllEnvs();
  }
}

/** The same of a document that the command printed. */
export function diagnosisFrom(json: string, exitCode: number): Diagnosis {
  const { healthy, findings }: { healthy: boolean; findings: readonly Finding[] } = JSON.parse(json);
  expect(healthy).toBe(exitCode === 0);
  const wrong = findings.filter(({ status }) => status !== 'ok');
  for (const { remedy } of wrong) expect(remedy).toMatch(/\w+ \w+/);
  return { exitCode, findings: Object.fromEntries(wrong.toReversed().map((finding) => [finding.check, finding])) };
}
