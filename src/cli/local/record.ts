import { bodyBytesMax } from '../../core/json/body-document.ts';
import { canonicalJson } from '../../core/json/canonical-json.ts';
import { readYaml } from '../../core/json/yaml.ts';
import { checkSpec } from '../../core/spec/check/check.ts';
import { findResource } from '../../core/spec/connection/find-resource.ts';
import type { ConnectorSpec } from '../../core/spec/schema/spec-schema.ts';
import type { Mock, SpecTest } from '../../core/spec/schema/test-schema.ts';
import { type PlayedTest, playTest } from '../../core/spec-tests/play-test.ts';
import { runSpecTests } from '../../core/spec-tests/run-spec-tests.ts';
import { CommandError, exitCodes } from '../command-error.ts';
import { type CommandResult, counted, createProgress } from '../output.ts';
import type { SpecFile, ValidSpecFile } from '../spec-file.ts';
import type { Tools } from '../tools.ts';
import { replaceFile, withTest } from './append-test.ts';
import { openEvaluator } from './evaluator.ts';
import { type LocalRead, readLocally } from './local-read.ts';
import { prepareRead, type ReadArguments } from './read-arguments.ts';
import { recordedMocks } from './recorded-mocks.ts';
import { createSecretMask, maskDeep, placeholdersOf } from './secret-masks.ts';

export interface RecordArguments extends ReadArguments {
  readonly name?: string;
}

type Prepared = Awaited<ReturnType<typeof prepareRead>>;

export async function record(tools: Tools, name: string, args: RecordArguments): Promise<CommandResult> {
  const prepared = await prepareRead(tools, name, args);
  const read = await readLocally(tools, { ...prepared, progress: createProgress(tools) });
  if (read.error) throw notRecorded(read.error.code, read.error.message);
  const { file } = prepared;
  await using evaluator = openEvaluator();
  const play = (test: SpecTest) => playTest(file.spec, test, { evaluator, signal: tools.signal });
  const test = await testOf(prepared, read, { name: testName(file.spec, prepared.resourceKey, args.name), play });
  const text = withTest(file, { ...test, mocks: test.mocks.map(withoutDefaults) });
  await checkText(file, text, (spec) => runSpecTests(spec, { evaluator }));
  await replaceFile(file.path, text);
  const { mocks, expect } = test;
  return {
    json: { file: name, test },
    lines: [
      `${name}: added the test "${test.name}"`,
      `  ${counted(mocks.length, 'response')}, ${counted(expect.delivered?.length ?? 0, 'row')}, status ${expect.status}`,
      '  It holds records of the API: look at them before you share the file.',
      `  css test ${name} runs it.`,
    ],
  };
}

type WrittenTest = Pick<SpecTest, 'name' | 'resource' | 'mocks' | 'expect'>;

/** A test's own outcome becomes its expectations, unless its rows differ from those of the read. */
async function testOf(
  { file, resourceKey, values, limit }: Prepared,
  read: LocalRead,
  { name, play }: { readonly name: string; readonly play: (test: SpecTest) => Promise<PlayedTest> },
): Promise<WrittenTest> {
  const { spec } = file;
  const placeholders = placeholdersOf(spec, values.secrets);
  const mask = createSecretMask(values.secrets, placeholders, read.secrets);
  const { limited } = read.run;
  const given = {
    name,
    resource: resourceKey,
    ...notEmpty('params', paramsOf(spec, values.params)),
    ...notEmpty('secrets', placeholders),
    ...(limited ? { maxRecords: limit } : {}),
    now: read.startedAt.toISOString(),
  };
  const rows = read.run.delivered.map((row) => canonicalJson(maskDeep(row, mask)));
  let reason = '';
  for (const recordsMax of limited ? [limit, null] : [null]) {
    const mocks = recordedMocks(read.exchanges, { spec, resource: findResource(spec, resourceKey), mask, recordsMax });
    const played = await play({
      params: {},
      secrets: {},
      watermark: null,
      known: [],
      ...given,
      mocks: [...mocks],
      expect: {},
    });
    if (!played.ok) reason = played.mismatches.map(({ at, message }) => `${at}: ${message}`).join('; ');
    else if (played.run.failure) reason = played.run.failure.message;
    else if (canonicalJson(played.run.delivered.map((row) => canonicalJson(row))) !== canonicalJson(rows))
      reason = 'its rows differ from those of the read';
    else return { ...given, mocks: [...mocks], expect: expectationsOf(played) };
  }
  throw notRecorded('not_recordable', `The read cannot be repeated from its responses: ${reason}.`);
}

const withoutDefaults = ({ respond: { status, headers, ...respond }, ...mock }: Mock) => ({
  ...mock,
  respond: {
    ...(status === 200 ? {} : { status }),
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    ...respond,
  },
});

function expectationsOf({ run, requests }: Extract<PlayedTest, { readonly ok: true }>): SpecTest['expect'] {
  const { recordsIn, recordsOut, skipped } = run.stats;
  return {
    status: run.status,
    stats: { recordsIn, recordsOut, ...(skipped > 0 ? { skipped } : {}) },
    ...(run.watermarkAfter === null ? {} : { watermarkAfter: run.watermarkAfter }),
    delivered: run.delivered.map((row) => ({ ...row })),
    ...(run.deleted.length > 0 ? { deleted: [...run.deleted] } : {}),
    ...(run.quarantined.length > 0 ? { quarantined: [...run.quarantined] } : {}),
    requests: requests.length,
  };
}

const notEmpty = (name: string, value: Readonly<Record<string, unknown>>) =>
  Object.keys(value).length === 0 ? {} : { [name]: value };

function paramsOf({ connectionParams }: ConnectorSpec, params: Readonly<Record<string, unknown>>) {
  const defaults = new Map(connectionParams.map((param) => [param.key, param.default]));
  const given = Object.entries(params).filter(
    ([key, value]) => canonicalJson(value) !== canonicalJson(defaults.get(key) ?? null),
  );
  return Object.fromEntries(given);
}

function testName({ tests }: ConnectorSpec, resourceKey: string, given: string | undefined): string {
  const wanted = given ?? `reads ${resourceKey} as recorded`;
  const names = new Set(tests.map(({ name }) => name));
  for (let no = 2, name = wanted; ; no += 1) {
    if (!names.has(name)) return name;
    name = `${wanted} (${no})`;
  }
}

/** Throws when the file would be invalid, or its new test would fail. */
async function checkText(
  { format, spec }: ValidSpecFile,
  text: string,
  run: (spec: ConnectorSpec) => ReturnType<typeof runSpecTests>,
): Promise<void> {
  if (Buffer.byteLength(text) > bodyBytesMax)
    throw notRecorded(
      'too_long',
      `The file would be longer than ${bodyBytesMax} bytes, the limit of the API: use a smaller --limit.`,
    );
  const checked = checkSpec(documentOf(text, format));
  const issues = checked.valid
    ? await run({ ...checked.spec, tests: checked.spec.tests.slice(spec.tests.length) })
    : checked.issues;
  const [first] = issues;
  if (first)
    throw notRecorded('not_recordable', `The file would not be valid any more: ${first.path}: ${first.message}.`);
}

const documentOf = (text: string, format: SpecFile['format']): unknown =>
  format === 'json' ? JSON.parse(text) : readYaml(text).value;

const notRecorded = (code: string, message: string): CommandError =>
  new CommandError(exitCodes.wrong, code, `${message} Nothing was recorded.`);
