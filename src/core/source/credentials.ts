import { renderTemplate } from '../expressions/template.ts';
import { type Credentials, leafTexts, signRequest } from './auth.ts';
import type { Source } from './source.ts';
import { textOf } from './text-of.ts';

type Signed = Pick<Source, 'auth' | 'params' | 'secrets' | 'run' | 'evaluator'>;

/** The credentials of a source's next request. Throws `auth_failed` when a secret is empty, `spec_invalid`. */
export function credentialsOf(source: Signed): Promise<Credentials> {
  const { auth, params, secrets, run, evaluator } = source;
  const roots = { params, secrets, auth: {}, run };
  const now = new Date(run.startedAt);
  return signRequest(auth, async (template) => {
    const value = await renderTemplate(template, roots, { evaluator, now, missing: 'omit' });
    return value === undefined || value === null ? null : textOf(value);
  });
}

/** Every value of a source that no log may show: its secrets, and what its auth makes of them. */
export async function credentialValues(source: Signed): Promise<readonly string[]> {
  const { secretValues } = await credentialsOf(source);
  return [...new Set([...leafTexts(source.secrets), ...secretValues])];
}
