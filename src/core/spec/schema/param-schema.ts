import * as v from 'valibot';
import { JsonValue } from '../../json/json-object.ts';
import { field, when } from './field.ts';
import { Identifier } from './names.ts';
import { strictObject } from './strict-object.ts';
import { WebUrl } from './web-url.ts';

const Characters = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

export const ConnectionParam = v.pipe(
  strictObject({
    key: field(
      Identifier,
      'The name of the value: `params.<key>`, or `secrets.<key>` when it is secret. No other param of the spec has it.',
      'subdomain',
    ),
    type: field(
      v.picklist(['string', 'integer', 'number', 'boolean', 'url', 'string_list', 'json']),
      'The type that the value of a connection must have. `url`: an http or https address without user name, which the service may call. `string_list`: a list of strings. `json`: any JSON value.',
    ),
    label: field(v.exactOptional(v.string()), 'The name shown to people. Absent: the key.', 'Acme subdomain'),
    description: field(
      v.exactOptional(v.string()),
      'What people should enter, and where they find it.',
      'The part of your address before .acme.example',
    ),
    example: field(
      v.exactOptional(v.pipe(v.string(), v.maxLength(200))),
      'A value as people enter it, shown to them where they do.',
      'acme',
    ),
    helpUrl: field(
      v.exactOptional(WebUrl),
      'Where people find the value, or how to make it: an http or https URL.',
      'https://help.acme.example/api-tokens',
    ),
    required: field(
      v.optional(v.boolean(), true),
      'False: a connection may leave the value out. It is then `default`, or missing in expressions.',
    ),
    secret: field(
      v.optional(v.boolean(), false),
      'True: a connection sends the value in `secrets`; it is stored encrypted, never returned, and has no default. Only expressions in `auth` and `destination` can use it.',
    ),
    default: field(
      v.exactOptional(JsonValue),
      'The value of a connection that gives none. It must fit the other rules.',
      'eu',
    ),
    enum: field(
      v.exactOptional(v.pipe(v.array(JsonValue), v.minLength(1), v.maxLength(1000))),
      'The only values allowed. Absent: every value of the type.',
      ['eu', 'us'],
    ),
    pattern: field(
      v.exactOptional(v.pipe(v.string(), v.maxLength(1000))),
      'A regular expression that the text, or each item of a list, must match. It is not anchored, and has no lookaround and no backreferences.',
      '^[a-z][a-z0-9-]*$',
    ),
    format: field(
      v.exactOptional(v.picklist(['date', 'date-time', 'email', 'uuid', 'hostname', 'subdomain'])),
      'A form that the text must have. `subdomain`: one label of a host name. Absent: any text.',
    ),
    minLength: field(v.exactOptional(Characters), 'The least number of characters of a text. Absent: 0.', 3),
    maxLength: field(
      v.exactOptional(Characters),
      'The greatest number of characters of a text. Absent: no limit of the spec.',
      63,
    ),
    min: field(v.exactOptional(v.number()), 'The least number allowed. Absent: no limit.', 1),
    max: field(v.exactOptional(v.number()), 'The greatest number allowed. Absent: no limit.', 100),
  }),
  v.metadata({
    description: 'One value that a connection supplies: in `params`, or in `secrets` when it is secret.',
    ...when({ properties: { secret: { const: true } }, required: ['secret'] }, { properties: { default: false } }),
  }),
);
export type ConnectionParam = v.InferOutput<typeof ConnectionParam>;
