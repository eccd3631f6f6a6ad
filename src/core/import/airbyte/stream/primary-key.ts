import { type Component, pathAt, valueOf } from '../component.ts';
import { refuse } from '../refusal.ts';

export function readPrimaryKey(stream: Component): readonly string[] {
  const value = valueOf(stream, 'primary_key');
  const at = pathAt(stream, 'primary_key');
  if (value === undefined || value === '') return [];
  const parts = Array.isArray(value) ? value : [value];
  const paths = parts.map((part) => (Array.isArray(part) ? part.map(String).join('.') : String(part)));
  const odd = paths.find(
    (path) => !/^[\p{L}\p{N}_@#][\p{L}\p{N}_@#:-]*(?:\.[\p{L}\p{N}_@#][\p{L}\p{N}_@#:-]*)*$/u.test(path),
  );
  if (odd !== undefined) return refuse(at, `the name ${JSON.stringify(odd.slice(0, 100))} cannot be part of a key`);
  return paths.length > 8 ? refuse(at, 'a key has at most eight fields') : paths;
}
