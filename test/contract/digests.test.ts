/**
 * A plain hash of a text that holds a secret lets whoever reads the database try a list of words. So each place that makes one
 * is listed, with the reason why it may: a new one is looked at before it is merged.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { figure } from '../support/security/figure.ts';

const root = join(import.meta.dirname, '../..');

const random = 'of random bits: there is no list to try';
const inMemory = 'a key of something that is kept in memory';
const ofSpec = 'of a spec and of params, which are no secrets';
const ofRecord = 'of a record or of what names one; a secret of the connection is never all that is unknown of it';
const masked = 'the secrets of the connection are masked in it';
const withToken = 'sealed together with the token';
const ofCode = 'of code or files of ours';

/** Files, how many they make or ask for, and why they may. */
const places: readonly (readonly [file: string, count: number, reason: string])[] = [
  ['activities/outbox.ts', 1, 'of a version before: compared, and never stored'],
  ['db/queries/webhooks/events.ts', 2, 'of a payload, which has no params, secrets or records'],
  ['src/api/gates/idempotency.ts', 1, 'of a version before: compared, and never stored'],
  ['src/api/reference/reference.ts', 1, ofCode],
  ['src/api/served-file.ts', 1, ofCode],
  ['src/connect/open-destination.ts', 1, 'of host, database and table of a SQL destination, without credentials'],
  ['src/console/assets.ts', 1, ofCode],
  ['src/console/pages/connection-values/edit-connection.ts', 2, 'of values without secrets, on a page that shows them'],
  ['src/console/pages/connection-values/new-connection.ts', 1, 'of a fingerprint under the key ring'],
  ['src/control/oauth/oauth.ts', 1, random],
  ['src/core/crypto/api-key.ts', 1, random],
  ['src/core/crypto/connect-token.ts', 1, random],
  ['src/core/crypto/hook-token.ts', 1, random],
  ['src/core/crypto/same-text.ts', 1, inMemory],
  ['src/core/destinations/sql/identifiers.ts', 1, 'of the name of a table'],
  ['src/core/destinations/sqlserver/driver/entra.ts', 1, inMemory],
  ['src/core/destinations/webhook/parts.ts', 3, ofRecord],
  ['src/core/ids.ts', 1, 'of ids and times'],
  ['src/core/json-schema/validate.ts', 1, inMemory],
  ['src/core/model/external-id.ts', 1, ofRecord],
  ['src/core/pipeline/admitted-record.ts', 1, 'of names of fields'],
  ['src/core/pipeline/candidate.ts', 3, ofRecord],
  ['src/core/pipeline/fingerprint.ts', 1, ofRecord],
  ['src/core/pipeline/quarantine-entry.ts', 1, masked],
  ['src/core/postgres/statement-names.ts', 1, 'of SQL without values'],
  ['src/core/run/engine.ts', 1, 'of whole tables of an API, into the fingerprints of records'],
  ['src/core/run/list-groups.ts', 1, 'of keys of partitions, which are stored as well'],
  ['src/core/source/auth/authorization-code.ts', 1, withToken],
  ['src/core/source/auth/open-tokens.ts', 1, withToken],
  ['src/core/source/auth/session-token.ts', 1, withToken],
  ['src/core/source/lookups/enrich.ts', 1, 'stored as a fingerprint under the key ring only'],
  ['src/core/source/lookups/lookup-key.ts', 2, 'stored as a fingerprint under the key ring only'],
  ['src/core/source/lookups/table-room.ts', 2, inMemory],
  ['src/core/source/read/list-trail.ts', 4, ofRecord],
  ['src/core/source/read/page-guard.ts', 1, 'of what its callers give it'],
  ['src/core/source/read/read-fingerprint.ts', 1, masked],
  ['src/core/source/read/repeated-page.ts', 3, masked],
  ['src/core/source/read/report-job.ts', 1, 'of the ids and times of a window'],
  ['src/core/source/read/report-parts.ts', 1, masked],
  ['src/core/source/request/request.ts', 1, masked],
  ['src/core/source/request/validators.ts', 1, ofSpec],
  ['src/core/spec/checksum.ts', 1, ofSpec],
  ['src/core/spec/connection/meaning.ts', 1, ofSpec],
  ['src/core/spec/connection/resource-fingerprint.ts', 1, ofSpec],
  ['src/core/spec/connection/shape-values.ts', 4, `${ofSpec}; or ${masked}`],
  ['src/core/spec/connection/stored-spec.ts', 1, inMemory],
  ['src/dev/embedded/download.ts', 1, ofCode],
  ['src/dev/embedded/postgres-owner.ts', 1, 'of the path of a folder'],
  ['src/process/cached-program.mjs', 1, ofCode],
  ['src/temporal/workflow-bundle.ts', 1, ofCode],
];

/** Makes a hash without a key, or calls what does. */
const makes =
  /(?<![.\w])(?:createHash|hash|digest)\(\s*'|(?<![.\w])(?:digestOf|fingerprintOf|pageKey)\(|(?<![.\w])(?:sha256|sha512|md5)\(/g;

it('every plain hash is of something that holds no secret, or is not stored', () => {
  const files = globSync('{src,activities,db,workflows}/**/*.{ts,mjs,js}', { cwd: root })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => !/\.test\.ts$|\.gen\.ts$|^src\/core\/crypto\/digest\.ts$/.test(file));
  expect(files.length).toBeGreaterThan(500);
  const found = files.flatMap((file) => {
    const count = readFileSync(join(root, file), 'utf8').match(makes)?.length ?? 0;
    return count === 0 ? [] : [`${file} ${count}`];
  });
  const listed = new Set(places.map(([file, count]) => `${file} ${count}`));
  figure('plainHashes', { count: found.filter((place) => !listed.has(place)).length, of: found.length });
  expect(found.toSorted()).toEqual([...listed].toSorted());
});
