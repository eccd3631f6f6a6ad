import { digestOf } from '../../crypto/digest.ts';
import { textIssue } from '../../json/json-limits.ts';
import type { HttpResponse } from '../../model/http.ts';
import type { PagePosition } from '../../model/read-position.ts';
import type { Validators } from '../../model/validators.ts';
import type { Source } from '../source.ts';

/** What to store of a response for a later read of the same request; null: nothing. */
export function validatorsOf(source: Source, requestKey: string, response: HttpResponse): Validators | null {
  const { mode } = source.resource.request.cache;
  const etag = storedHeader(response, 'etag');
  const lastModified = storedHeader(response, 'last-modified');
  if (mode === 'none' || (mode === 'conditional' && etag === null && lastModified === null)) return null;
  return { requestKey, specChecksum: meaningOf(source), etag, lastModified, at: source.now().toISOString() };
}

/**
 * What an earlier response is about besides its request: with another spec, table or param, or below a parent that has changed,
 * its records have another form.
 */
function meaningOf({ specChecksum, shapedBy = '', shapedByEach = () => '', each }: Source): string {
  const shapes = [shapedBy, shapedByEach(each)].filter((text) => text !== '');
  return shapes.length === 0 ? specChecksum : digestOf([specChecksum, ...shapes].join('\n'));
}

/** The validators of an earlier response to exactly this request; null: nothing, or not valid for this page. */
export function storedFor(source: Source, position: PagePosition, requestKey: string): Validators | null {
  const { validators, resource } = source;
  if (position.index > 1 || resource.request.method !== 'GET') return null;
  return validators?.requestKey === requestKey && validators.specChecksum === meaningOf(source) ? validators : null;
}

/** Whether a request is sent with `stored`: a 304 must not hide the pages behind the one that it is about. */
export const isConditional = (source: Source, stored: Validators | null): stored is Validators =>
  stored?.isWhole === true && source.resource.request.cache.mode === 'conditional';

/** What a read keeps of its first page: of a conditional one only what is the whole list; null: nothing. */
export function keptValidators(
  { resource }: Source,
  validators: Validators | null,
  { isWhole }: { readonly isWhole: boolean },
): Validators | null {
  // Where an expression ends a list, the API may have more of it.
  if (validators !== null && isWhole && resource.pagination.stopWhen === undefined) return { ...validators, isWhole };
  return resource.request.cache.mode === 'ttl' ? validators : null;
}

/** Headers that let the API respond that nothing has changed. */
export function conditionalHeaders(source: Source, stored: Validators | null): Record<string, string> {
  if (!isConditional(source, stored)) return {};
  return {
    ...(stored.etag === null ? {} : { 'if-none-match': stored.etag }),
    ...(stored.lastModified === null ? {} : { 'if-modified-since': stored.lastModified }),
  };
}

/** Whether the spec treats the earlier response as still valid, so that no request is sent. */
export function isFresh(source: Source, stored: Validators | null): boolean {
  const { mode, ttlSeconds = 0 } = source.resource.request.cache;
  return mode === 'ttl' && stored !== null && source.now().getTime() < Date.parse(stored.at) + ttlSeconds * 1000;
}

/** Null when the response has none or none that a database can hold: the next request is then unconditional. */
function storedHeader({ headers }: HttpResponse, name: string): string | null {
  const value = headers[name];
  return value === undefined || textIssue(value) !== null ? null : value;
}
