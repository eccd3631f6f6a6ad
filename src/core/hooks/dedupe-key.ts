import { parseBounded } from '../json/json-size.ts';
import type { Dedupe, Verification } from '../resources/verification-schema.ts';
import { signsBody } from './signed-content.ts';
import type { ReceivedRequest } from './verify-request.ts';

const dedupeOf = {
  standard_webhooks: { by: 'header', name: 'webhook-id' },
  github: { by: 'header', name: 'x-github-delivery' },
  shopify: { by: 'header', name: 'x-shopify-webhook-id' },
  stripe: { by: 'pointer', pointer: '/id' },
  slack: { by: 'pointer', pointer: '/event_id' },
  hmac: { by: 'body' },
  header_secret: { by: 'body' },
  none: { by: 'body' },
} as const satisfies Record<Verification['kind'], Dedupe>;

/** Identity of a verified request; without a key it is compared with no other. */
export type DedupeKey =
  | {
      readonly key: Uint8Array;
      /** Whether the upstream supplied an id; if not, the body is compared. */
      readonly hasId: boolean;
      readonly sameness: string;
      readonly issue: null;
    }
  | { readonly key: null; readonly issue: string | null };

/**
 * Bytes that are equal for the same notification; `null` if it is not compared. Equal bodies are the same notification
 * only until its run has begun, because many upstreams repeat the same words. An id in an unsigned header counts with
 * the body, so a captured request repeated under a future id cannot suppress the real one. A missing id header is a
 * fault; an empty body is not compared.
 */
export function dedupeKey(
  { verification, dedupe }: { readonly verification: Verification; readonly dedupe: Dedupe | null },
  { header, body }: Pick<ReceivedRequest, 'header' | 'body'>,
): DedupeKey {
  const rule: Dedupe = dedupe ?? dedupeOf[verification.kind];
  if (rule.by === 'nothing') return notCompared;
  if (rule.by === 'header') {
    const id = header(rule.name);
    if (id === null || id === '') return { key: null, issue: 'the id is missing' };
    const isForgeable = signsBody(verification) && !isSignedId(verification, rule.name);
    return { key: words(`id:${id}`, isForgeable ? body : ''), hasId: true, sameness: sameIdAs(rule.name), issue: null };
  }
  if (rule.by === 'pointer') {
    const id = scalarAt(rule.pointer, body);
    if (id !== null) return { key: words(`id:${id}`, ''), hasId: true, sameness: sameIdAs(rule.pointer), issue: null };
  }
  return body.byteLength === 0
    ? notCompared
    : { key: words('body:', body), hasId: false, sameness: sameBody, issue: null };
}

const sameIdAs = (place: string): string => `its id in ${place} is the same as that of a request in the last 7 days`;
const sameBody = 'its body is the same as that of a request whose run has not begun';

const isSignedId = ({ kind }: Verification, name: string): boolean =>
  kind === 'standard_webhooks' && name.toLowerCase() === dedupeOf.standard_webhooks.name;

const notCompared: DedupeKey = { key: null, issue: null };

const words = (head: string, body: string | Uint8Array): Uint8Array =>
  Buffer.concat([Buffer.from(`${head}\0`), Buffer.from(body)]);

/** JSON values of a body in which an id is looked for: parsing them takes a few ms. */
const hookValuesMax = 20_000;

/** The text or number at a JSON pointer; `null` if the body is not JSON, has too many values, or none there. */
function scalarAt(pointer: string, body: Uint8Array): string | null {
  let value: unknown;
  try {
    value = parseBounded(body, hookValuesMax);
  } catch {
    return null;
  }
  for (const part of pointer.slice(1).split('/')) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return null;
    value = (value as Readonly<Record<string, unknown>>)[key];
  }
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
}
