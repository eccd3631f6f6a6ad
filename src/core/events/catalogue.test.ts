import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { strictForm } from '../../../test/support/service/strict-form.ts';
import { eventTypes } from '../resources/event-types.ts';
import { eventCatalogue, eventSchema, exampleEvent } from './catalogue.ts';

describe('the catalogue of events', () => {
  it('has every type, and no other', () => {
    expect(Object.keys(eventCatalogue).toSorted()).toEqual([...eventTypes].toSorted());
  });

  it.each(eventTypes)('gives %s an example that its schema takes as it is', (type) => {
    const { summary, example } = eventCatalogue[type];
    expect(summary).toMatch(/\.$/);
    expect(v.parse(strictForm(eventSchema(type)), exampleEvent(type))).toMatchObject({ type, data: example });
  });

  it('keeps no field that holds params, secrets or records', () => {
    const examples = JSON.stringify(eventTypes.map(exampleEvent));
    for (const name of ['paramsJson', 'specOverridesJson', 'specJson', 'rawJson', 'secret', 'validationErrors']) {
      expect(examples).not.toContain(`"${name}"`);
    }
  });
});
