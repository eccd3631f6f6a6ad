import type { ChangePlan } from '../../../core/resources/spec.ts';
import { hasEffect } from '../../../core/spec/connection/upgrade-plan.ts';
import { checkbox } from '../../parts/form.ts';
import { type Content, type Html, html } from '../../parts/html.ts';
import { badge, type Tone } from '../../parts/status.ts';
import { table } from '../../parts/table.ts';

const classes: Readonly<Record<ChangePlan['class'], readonly [Tone, string]>> = {
  compatible: ['good', 'Goes on'],
  resets: ['warn', 'Starts over'],
  breaking: ['bad', 'Breaks'],
};

/** The box by which the reader agrees to deletions. */
export const allowDeletesField = 'allowDeletes';

interface Shown {
  /** `null`: only names change. */
  readonly plan: ChangePlan | null;
  /** The value of the box: it agrees to the deletions of this change alone. */
  readonly consent: string;
  readonly agreed: boolean;
}

/** The effects of a change without issues on each resource. */
export function changePlan({ plan, consent, agreed }: Shown): Html {
  if (plan === null || !plan.resources.some(isAffected))
    return html`<p class="notice good">Every resource goes on where it is: nothing is read or delivered again.</p>`;
  return html`<p class="notice">Saving has these effects:</p>
    ${table({
      caption: 'Effects on resources',
      rows: plan.resources,
      empty: null,
      columns: [
        { head: 'Resource', cell: ({ resourceKey }) => html`<span class="strong">${resourceKey}</span>` },
        { head: 'Sync', narrow: 'lead', cell: ({ class: of }) => badge(...classes[of]) },
        { head: 'Effect', kind: 'wide', cell: ({ effect }) => effect },
      ],
    })}${plan.resources.some(({ mayDelete }) => mayDelete) ? agreement(consent, agreed) : ''}`;
}

type ResourcePlan = ChangePlan['resources'][number];

const isAffected = (resource: ResourcePlan): boolean => hasEffect(resource) || resource.mayDelete;

const agreement = (value: string, checked: boolean): Content =>
  html`<p class="after">${checkbox(allowDeletesField, 'Later runs may delete rows that they no longer find', { value, checked })}</p>`;
