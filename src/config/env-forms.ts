/** Forms of environment variables, which check, convert, and describe themselves for messages. */
import * as v from 'valibot';
import { parseAllowList, parseDenyList } from '../core/http/addresses.ts';
import { type EgressProxy, egressProxyForm, parseEgressProxy } from '../core/http/proxy-tunnel.ts';
import { type KeyRing, keyRingForm, parseKeyRing } from './key-ring.ts';

export const text = v.pipe(v.string(), v.trim(), v.description('text'));

export const integer = (min: number, max: number) =>
  v.pipe(
    v.string(),
    v.trim(),
    v.regex(/^\d{1,9}$/),
    v.transform(Number),
    v.minValue(min),
    v.maxValue(max),
    v.description(`an integer from ${min} to ${max}`),
  );

export const flag = v.pipe(
  v.picklist(['0', '1']),
  v.transform((value) => value === '1'),
  v.description('0 or 1'),
);

/** `true` or `false` in any case, as in OpenTelemetry; it takes other text as false, which is a mistake here. */
export const boolean = v.pipe(
  v.string(),
  v.trim(),
  v.toLowerCase(),
  v.picklist(['true', 'false']),
  v.transform((value) => value === 'true'),
  v.description('true or false'),
);

export const urlToken = v.pipe(
  v.string(),
  v.trim(),
  v.regex(/^[A-Za-z0-9_-]{32,128}$/),
  v.description('32 to 128 letters, digits, _ and -'),
);

/** A worker deployment of Temporal, which joins it to the build with a dot. */
export const deploymentName = v.pipe(
  v.string(),
  v.trim(),
  v.regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/),
  v.description('1 to 63 letters, digits, _ and -, first a letter or digit'),
);

export const buildId = v.pipe(
  v.string(),
  v.trim(),
  v.regex(/^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}$/),
  v.description('1 to 128 letters, digits, ., _, + and -, first a letter or digit'),
);

export const oneOf = <const Words extends readonly string[]>(words: Words) =>
  v.pipe(v.picklist(words), v.description(`one of ${words.join(', ')}`));

export const listOf = <const Words extends readonly string[]>(words: Words) =>
  v.pipe(
    v.string(),
    v.transform((value) => value.split(',').map((word) => word.trim())),
    v.array(v.picklist(words)),
    v.readonly(),
    v.description(`one or more of ${words.join(', ')}, separated by commas`),
  );

export const seconds = v.pipe(
  v.string(),
  v.trim(),
  v.regex(/^\d{1,6}(?:\s*,\s*\d{1,6})*$/),
  v.transform((value) => value.split(',').map(Number)),
  v.readonly(),
  v.description('whole seconds, separated by commas, such as 5,30,120'),
);

/** Origins of web pages as browsers send them, or `*`. */
export const origins = v.pipe(
  v.string(),
  v.transform((value) => value.split(',').map((origin) => origin.trim())),
  v.check((all) => (all.length === 1 && all[0] === '*') || all.every(isOrigin)),
  v.transform((all): '*' | readonly string[] => (all[0] === '*' ? '*' : all)),
  v.description('* or origins such as https://app.example.com, separated by commas'),
);

const isOrigin = (value: string): boolean => /^https?:/.test(value) && URL.parse(value)?.origin === value;

export const url = (...schemes: readonly string[]) =>
  v.pipe(
    v.string(),
    v.trim(),
    v.check((value) => schemes.includes(URL.parse(value)?.protocol.slice(0, -1) ?? '')),
    v.description(`a URL that starts with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`),
  );

/** The text of the egress guard's allow list, checked but not parsed. */
export const allowList = addressList(
  parseAllowList,
  'host-or-CIDR:port, separated by commas, such as 10.1.2.0/24:5432 or [::1]:4010, and no metadata address',
);

/** The text of the egress guard's deny list, checked but not parsed. */
export const denyList = addressList(parseDenyList, 'addresses or CIDR blocks, separated by commas');

function addressList(parse: (text: string) => unknown, description: string) {
  const isList = (value: string): boolean => {
    try {
      parse(value);
      return true;
    } catch {
      return false;
    }
  };
  return v.pipe(v.string(), v.trim(), v.check(isList), v.description(description));
}

export const egressProxy = v.pipe(
  v.string(),
  v.rawTransform<string, EgressProxy>(({ dataset, addIssue, NEVER }) => {
    const proxy = parseEgressProxy(dataset.value.trim());
    if (proxy) return proxy;
    addIssue();
    return NEVER;
  }),
  v.description(egressProxyForm),
);

/** A JSON object, whose content is checked where it is used. */
export const jsonObject = v.pipe(
  v.string(),
  v.parseJson(),
  v.check((value) => !Array.isArray(value)),
  v.record(v.string(), v.unknown()),
  v.description('a JSON object'),
);

export const keyRing = v.pipe(
  v.string(),
  v.rawTransform<string, KeyRing>(({ dataset, addIssue, NEVER }) => {
    const ring = parseKeyRing(dataset.value);
    if (ring) return ring;
    addIssue();
    return NEVER;
  }),
  v.description(keyRingForm),
);
