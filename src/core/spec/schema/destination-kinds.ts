import { type Issue, schemaIssue } from '../../errors.ts';
import { valuesAt } from '../check/document-paths.ts';
import type { DestinationSpec } from './destination-schema.ts';

/** Facts about a kind of destination that spec rules need, besides the form of its options. */
export interface DestinationKind {
  /** Records are rows: fields need columns, and a transaction can replace or roll back rows. */
  readonly keepsRows: boolean;
  readonly webUrls: readonly string[];
  readonly checkOptions: (options: Readonly<Record<string, unknown>>) => readonly Issue[];
}

const kinds: Readonly<Record<DestinationSpec['kind'], DestinationKind>> = {
  postgres: { keepsRows: true, webUrls: [], checkOptions: urlOrParts },
  sqlserver: { keepsRows: true, webUrls: [], checkOptions: userOrApplication },
  webhook: { keepsRows: false, webUrls: ['url'], checkOptions: () => [] },
};

export const destinationKinds: readonly string[] = Object.keys(kinds);

/** A spec without a destination uses the deployment's own, which it cannot know: it is written for rows. */
const unknownKind: DestinationKind = { keepsRows: true, webUrls: [], checkOptions: () => [] };

/** The kind of destination that a document names, even if the rest is invalid. */
export function destinationKind(document: unknown): DestinationKind {
  const [named] = valuesAt(document, 'destination.kind');
  return new Map<unknown, DestinationKind>(Object.entries(kinds)).get(named?.value) ?? unknownKind;
}

function urlOrParts(options: Readonly<Record<string, unknown>>): readonly Issue[] {
  const parts = ['host', 'database', 'user', 'password'];
  const given = parts.filter((key) => options[key] !== undefined);
  if (options['url'] !== undefined) {
    return given.map((key) =>
      schemaIssue(`destination.${key}`, `\`${key}\` is part of \`url\`; give one or the other`),
    );
  }
  const missing = parts.filter((key) => options[key] === undefined);
  if (missing.length === parts.length) return [schemaIssue('destination.url', '`url` or `host` is required')];
  return missing.map((key) => schemaIssue(`destination.${key}`, `\`${key}\` is required unless \`url\` is given`));
}

function userOrApplication(options: Readonly<Record<string, unknown>>): readonly Issue[] {
  const parts = ['user', 'password'];
  if (options['authentication'] === undefined) {
    return parts
      .filter((key) => options[key] === undefined)
      .map((key) => schemaIssue(`destination.${key}`, `\`${key}\` is required unless \`authentication\` is given`));
  }
  const both = parts
    .filter((key) => options[key] !== undefined)
    .map((key) =>
      schemaIssue(`destination.${key}`, `\`authentication\` takes the place of \`${key}\`; give one or the other`),
    );
  const isPlain = options['encrypt'] === false;
  return isPlain
    ? [...both, schemaIssue('destination.encrypt', 'a token would be sent in plain text; use true')]
    : both;
}
