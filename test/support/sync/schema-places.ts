/** The JSON Schema of a spec as an editor uses it. */
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { connectorSpecSchema } from '../../../src/core/spec/reference/json-schema.ts';

/** The JSON Schema of a spec. */
export const schema = connectorSpecSchema();
/** Its validator. */
export const ajv = new Ajv2020({ allErrors: true, strict: false, formats: { uri: true, 'date-time': true } });
/** Whether a document is valid by it; `errors` says where not. */
export const validate = ajv.compile(schema);

/** Where an error is, as the validator writes paths: a missing or unknown property is a place of its own. */
export function placeOf({ instancePath, params }: ErrorObject): string {
  const { missingProperty, additionalProperty, propertyName } = params;
  const steps = instancePath
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  return [...steps, ...[missingProperty ?? additionalProperty ?? propertyName ?? []].flat()].join('.');
}

/** The places of a document that the schema refuses. Keywords that only repeat what is inside them do not count. */
export function placesRefused(document: unknown): readonly string[] {
  validate(document);
  const errors = (validate.errors ?? []).filter(({ keyword }) => !['if', 'allOf', 'propertyNames'].includes(keyword));
  return [...new Set(errors.map((error) => placeOf({ ...error, params: { ...error.params, ...nameIn(error) } })))];
}

/** The name that a pattern of property names refuses. */
const nameIn = ({ propertyName }: ErrorObject) => (propertyName === undefined ? {} : { propertyName });

/** Whether a place is within another. */
export const isInside = (place: string, path: string): boolean => place.startsWith(`${path}.`);
