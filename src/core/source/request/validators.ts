import { digestOf } from '../../crypto/digest.ts';
import { textIssue } from '../../json/json-limits.ts';
import type { HttpResponse } from '../../model/http.ts';
import type { PagePosition } from '../../model/read-position.ts';
import type { Validators } from '../../model/validators.ts';
import type { Source } from '../source.ts';
import { isSettled, lastModifiedOf } from './last-modified.ts';

export function validatorsOf(source: Source, requestKey: string, response: HttpResponse): Validators | null {
  const { mode } = source.resource.request.cache;
  const etag = storable(response.headers['etag']);
  const lastModified = storable(lastModifiedOf(response.headers));
  if (mode === 'none' || (mode === 'conditional' && etag === null && lastModified === null)) return null;
  return { requestKey, specChecksum: meaningOf(source), etag, lastModified, at: source.now().toISOString() };
}

/** Changes with the spec, a table, a param, or a changed parent, as the records then have another form. */
function meaningOf({ specChecksum, shapedBy = '', shapedByEach = () => '', each }: Source): string {
  const shapes = [shapedBy, shapedByEach(each)].filter((text) => text !== '');
  return shapes.length === 0 ? specChecksum : digestOf([specChecksum, ...shapes].join('\n'));
}

/** `null` unless they belong to exactly this request and are valid for this page. */
export function storedFor(source: Source, position: PagePosition, requestKey: string): Validators | null {
  const { validators, resource } = source;
  if (position.index > 1 || resource.request.method !== 'GET') return null;
  return validators?.requestKey === requestKey && validators.specChecksum === meaningOf(source) ? validators : null;
}

/** A 304 must not hide the pages after the one that it is about. */
export const isConditional = (source: Source, stored: Validators | null): stored is Validators =>
  stored?.isWhole === true && source.resource.request.cache.mode === 'conditional';

/** Keeps a conditional one only if it is the whole list. */
export function keptValidators(
  { resource }: Source,
  validators: Validators | null,
  { isWhole }: { readonly isWhole: boolean },
): Validators | null {
  // If an expression ends a list, the API may have more of it.
  if (validators !== null && isWhole && resource.pagination.stopWhen === undefined) return { ...validators, isWhole };
  return resource.request.cache.mode === 'ttl' ? validators : null;
}

export function conditionalHeaders(source: Source, stored: Validators | null): Record<string, string> {
  if (!isConditional(source, stored)) return {};
  const { etag, lastModified, at } = stored;
  return {
    ...(etag === null ? {} : { 'if-none-match': etag }),
    // An earlier version of the service stored any.
    ...(lastModified === null || !isSettled(lastModified, at) ? {} : { 'if-modified-since': lastModified }),
  };
}

/** Whether the earlier response is still valid by the spec, so that no request is sent. */
export function isFresh(source: Source, stored: Validators | null): boolean {
  const { mode, ttlSeconds = 0 } = source.resource.request.cache;
  return mode === 'ttl' && stored !== null && source.now().getTime() < Date.parse(stored.at) + ttlSeconds * 1000;
}

/** `null` if it is missing or no database can hold it, so that the next request is unconditional. */
function storable(value: string | undefined): string | null {
  return value === undefined || textIssue(value) !== null ? null : value;
}
