import { XMLParser } from 'fast-xml-parser';
import { AppError } from '../../errors.ts';
import { jsonLimits } from '../../json/json-limits.ts';

/** Blocks for about 0.2 s per million characters; `decodeXml` describes the form. */
export function parseXml(text: string): unknown {
  const prolog = /^(?:[^<]|<(?![A-Za-z_]))*/.exec(text.slice(0, prologMax))?.[0] ?? '';
  if (/<!doctype/i.test(prolog)) throw hasDoctype();
  try {
    const document: unknown = createParser().parse(text, true);
    if (hasOneRoot(document)) return document;
  } catch (error) {
    if (error instanceof AppError) throw error;
    // Without a cause: the parser's own error quotes the document.
    if (error instanceof Error && error.message === 'Maximum nested tags exceeded') throw tooDeep();
    throw notWellFormed();
  }
  throw notWellFormed();
}

/** As deep as a record may be, root included. */
const { depthMax } = jsonLimits;

/** A DOCTYPE gets its own message only within these characters, but the parser refuses it anywhere. */
const prologMax = 10_000;

const createParser = () =>
  new XMLParser({
    ignoreAttributes: false,
    attributeNamePrefix: '@',
    parseTagValue: false,
    parseAttributeValue: false,
    ignoreDeclaration: true,
    ignorePiTags: true,
    jPath: false,
    maxNestedTags: depthMax - 1,
    entityDecoder: ownEntitiesOnly,
  });

/** The parser's own check overlooks a second root that closes itself. */
function hasOneRoot(document: unknown): boolean {
  const roots = typeof document === 'object' && document !== null ? Object.values(document) : [];
  return roots.length === 1 && !Array.isArray(roots[0]);
}

/** The parser's own decoder would accept entities that a DOCTYPE declares. */
const ownEntitiesOnly = {
  decode: (text: string): string => text.replace(/&([^;&]*);?/g, (_, name: string) => characterOf(name)),
  addInputEntities: (): void => {
    throw hasDoctype();
  },
  setExternalEntities: (): void => {},
  setXmlVersion: (): void => {},
  reset: (): void => {},
};

const ownEntities: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
]);

function characterOf(name: string): string {
  const digits = /^#(?:x(?<hex>[0-9A-Fa-f]{1,6})|(?<decimal>\d{1,7}))$/.exec(name)?.groups;
  const point = digits && Number.parseInt(digits['hex'] ?? digits['decimal'] ?? '', digits['hex'] ? 16 : 10);
  const isCharacter = point !== undefined && point > 0 && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
  const character = isCharacter ? String.fromCodePoint(point) : ownEntities.get(name);
  if (character !== undefined) return character;
  throw refused('refers to an entity that XML does not predefine', 'Only &amp; &lt; &gt; &quot; &apos; are supported.');
}

const notWellFormed = (): AppError =>
  refused('is not well-formed XML', 'Check the URL and the decoder of this resource.');

const tooDeep = (): AppError => refused(`is nested more than ${depthMax} levels deep`, 'Check the URL.');

const hasDoctype = (): AppError =>
  refused(
    'has a DOCTYPE, which is not supported',
    'Ask the API for plain XML; an HTML page is often an error or a login.',
  );

const refused = (what: string, advice: string): AppError =>
  new AppError('source_rejected', `The response body ${what}. ${advice}`);
