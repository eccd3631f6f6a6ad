import {
  defineSearchAttributeKey,
  type SearchAttributePair,
  SearchAttributeType,
  TypedSearchAttributes,
} from '@temporalio/common';
import { searchAttributes } from '../../workflows/contract.ts';

type Name = keyof typeof searchAttributes;

const names: readonly Name[] = ['orgId', 'connectionId', 'resourceKey', 'runId', 'trigger', 'stage'];

export function attributesOf(values: Readonly<Partial<Record<Name, string>>>): TypedSearchAttributes {
  const pairs = names.flatMap((name): readonly SearchAttributePair[] => {
    const value = values[name];
    const key = defineSearchAttributeKey(searchAttributes[name], SearchAttributeType.KEYWORD);
    return value === undefined ? [] : [{ key, value }];
  });
  return new TypedSearchAttributes(pairs);
}
