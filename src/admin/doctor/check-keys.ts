import { countSealed } from '../../../db/queries/connections/sealed-values.ts';
import type { Config } from '../../config/config.ts';
import { secretsKeyRing } from '../../config/dev-secrets.ts';
import { findMissingKeys } from '../../control/orgs/key-ring-check.ts';
import type { Deps } from '../../deps.ts';
import { type Finding, found, ok } from './finding.ts';

const lostKeys = 'docs/operations/lost-keys.md says what can be done if a key is lost.';

/** The database must be migrated. */
export async function checkKeys(deps: Deps, config: Config): Promise<readonly Finding[]> {
  return [await checkCanary(deps, config), await checkStored(deps, config), ...checkSigning(deps)];
}

async function checkCanary(deps: Deps, config: Config): Promise<Finding> {
  const [current] = secretsKeyRing(config);
  const missing = await findMissingKeys(deps);
  if (missing === null || missing.length === 0) {
    const what = missing === null ? 'nothing is stored yet' : 'it decrypts what is stored';
    return ok('keys.secrets', `SECRETS_KEYS encrypts with ${current?.id ?? ''}; ${what}.`);
  }
  return found('fault', 'keys.secrets', {
    detail: `SECRETS_KEYS cannot decrypt what is stored: ${missing.join(', ')} is missing or has other bytes.`,
    remedy: `Set the keys that encrypted it; processes refuse to start until then. ${lostKeys}`,
  });
}

async function checkStored({ db }: Deps, config: Config): Promise<Finding> {
  const known = new Set(secretsKeyRing(config).map(({ id }) => id));
  const unknown = (await countSealed(db)).filter(({ kekId }) => !known.has(kekId));
  if (unknown.length === 0) return ok('keys.stored', 'Every stored secret names a key of SECRETS_KEYS.');
  const rows = unknown.map(({ table, kekId, count }) => `${count} of ${table} need ${kekId}`);
  return found('fault', 'keys.stored', {
    detail: `Stored secrets name keys that SECRETS_KEYS lacks: ${rows.join('; ')}.`,
    remedy: `Add the keys again behind the current one. ${lostKeys}`,
  });
}

function checkSigning({ oauth, embed }: Deps): readonly Finding[] {
  const missing = (name: string, what: string) =>
    found('warning', 'keys.signing', {
      detail: `${name} is not set, so ${what} respond with 500.`,
      remedy: `Set ${name} if you need them: .env.example shows how to make a key.`,
    });
  const findings = [
    ...(oauth === null ? [missing('OAUTH_STATE_KEYS', 'the OAuth endpoints')] : []),
    ...(embed.keys === null ? [missing('EMBED_KEYS', 'requests for embed tokens')] : []),
  ];
  return findings.length > 0 ? findings : [ok('keys.signing', 'OAUTH_STATE_KEYS and EMBED_KEYS are there.')];
}
