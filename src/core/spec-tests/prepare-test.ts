import type { RunStart } from '../memory-run/memory-ledger.ts';
import { cursorText, parseInitialCursor } from '../source/cursor/cursor-value.ts';
import { checkConnectionValues } from '../spec/connection/params.ts';
import type { ConnectorSpec, Resource } from '../spec/schema/spec-schema.ts';
import type { SpecTest } from '../spec/schema/test-schema.ts';
import type { Mismatch } from './check-run.ts';
import type { TestContext } from './test-context.ts';

/** `at` is below the test. */
type PreparedTest =
  | ({ readonly ok: true; readonly start: RunStart; readonly expected: SpecTest['expect'] } & Pick<
      TestContext,
      'params' | 'secrets'
    >)
  | { readonly ok: false; readonly mismatches: readonly Mismatch[] };

/** Checks the values of a test like those of a connection, and writes its watermarks as runs do. */
export function prepareTest(spec: ConnectorSpec, test: SpecTest, resource: Resource): PreparedTest {
  const { params, secrets, watermark, known, expect } = test;
  const values = checkConnectionValues(withoutSecretsNotGiven(spec, test), { params, secrets });
  const canonical = watermark === null ? null : canonicalWatermark(watermark, resource);
  const mismatches = [
    ...(values.ok ? [] : values.issues.map(({ path, message }) => ({ at: path, message }))),
    ...(canonical === undefined ? [{ at: 'watermark', message: 'is not a value of the cursor of its resource' }] : []),
  ];
  if (!values.ok || canonical === undefined) return { ok: false, mismatches };
  const { watermarkAfter } = expect;
  const after = watermarkAfter && (canonicalWatermark(watermarkAfter, resource) ?? watermarkAfter);
  return {
    ...values,
    start: { watermark: canonical, known },
    expected: after === undefined ? expect : { ...expect, watermarkAfter: after },
  };
}

/** A test signs nothing and delivers nowhere, so it needs no secret that it does not name. */
const withoutSecretsNotGiven = ({ connectionParams }: ConnectorSpec, { secrets }: SpecTest) => ({
  connectionParams: connectionParams.map((param) =>
    param.secret && !Object.hasOwn(secrets, param.key) ? { ...param, required: false } : param,
  ),
});

/** `undefined` for a text that is not a cursor value of the resource. */
function canonicalWatermark(text: string, { incremental }: Resource): string | undefined {
  if (incremental?.kind !== 'cursor') return text;
  const value = parseInitialCursor(text, incremental.cursor);
  return value === null ? undefined : cursorText(value, incremental.cursor);
}
