import type { Dedupe, Verification } from '../resources/verification-schema.ts';
import { signsBody } from './signed-content.ts';
import type { ReceivedRequest } from './verify-request.ts';

/** Where the kinds of verification have the id of a notification. */
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

/** What a verified request is compared by; without a key it is compared with nothing. */
export type DedupeKey =
  | {
      readonly key: Uint8Array;
      /** The upstream gave the notification an id; false: it is compared by its body. */
      readonly hasId: boolean;
      /** Says why a request with the same key is a duplicate. */
      readonly sameness: string;
      readonly issue: null;
    }
  | { readonly key: null; readonly issue: string | null };

/**
 * Bytes that are the same for the same notification; null: it is compared with none. By its body a notification is the same only
 * while its run has not begun, since many upstreams send the same words each time. An id in a header that the signature does
 * not cover counts with the body: whoever repeats a captured request under an id that is yet to come takes nothing from
 * the notification that has it. A request without the header that names it has a fault. Requests without a body say
 * nothing that could make them the same.
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

/** Whether the signature covers the id in that header. */
const isSignedId = ({ kind }: Verification, name: string): boolean =>
  kind === 'standard_webhooks' && name.toLowerCase() === dedupeOf.standard_webhooks.name;

const notCompared: DedupeKey = { key: null, issue: null };

const words = (head: string, body: string | Uint8Array): Uint8Array =>
  Buffer.concat([Buffer.from(`${head}\0`), Buffer.from(body)]);

/** The text or number at a JSON pointer; null: the body is no JSON, or has none there. */
function scalarAt(pointer: string, body: Uint8Array): string | null {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(body).toString('utf8'));
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
