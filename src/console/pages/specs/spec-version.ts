import { findSpecVersion } from '../../../../db/queries/specs.ts';
import { deleteDraft, deprecateVersion, publishVersion } from '../../../control/specs/specs.ts';
import { found } from '../../../core/errors.ts';
import type { SpecVersionRow } from '../../../core/resources/spec.ts';
import { code, idText } from '../../parts/code.ts';
import { button } from '../../parts/form.ts';
import { heading } from '../../parts/frame.ts';
import { html } from '../../parts/html.ts';
import { specText } from '../../parts/spec-text.ts';
import { versionBadge } from '../../parts/status.ts';
import { facts, section } from '../../parts/table.ts';
import { time } from '../../parts/time.ts';
import { action, page, type Visit } from '../../route.ts';
import { editor, previewForm } from './spec-editor.ts';
import { connectLink, VersionParams, versionPath } from './specs.ts';

export const versionPage = page({
  path: '/specs/:key/:version',
  params: VersionParams,
  handle: async (visit, { db, costly }) => {
    const { scope, params } = visit;
    const { key } = params;
    const row = found(await findSpecVersion(db, scope, params), 'Spec version');
    const text = await costly.run(scope.orgId, 'side_by_side', async () => specText(row.specJson));
    return {
      title: `${key} ${row.version}`,
      section: 'specs',
      trail: [
        ['Specs', '/console/specs'],
        [key, `/console/specs/${key}`],
      ],
      body: html`${heading(`${key} ${row.version}`, { state: versionBadge(row.status), actions: buttons(visit, row, key) })}
        ${facts([
          ['Published', time(row.publishedAt, 'not yet')],
          ['Checksum', html`<code>${row.checksum.slice(0, 19)}…</code>`],
          ['Id', idText(row.id)],
        ])}
        ${
          row.status === 'draft'
            ? section('Document', editor(visit, { text, key, version: row.version }))
            : section(
                'Document',
                [html`<p class="hint above">A published version never changes.</p>`, code(text, 'Spec document')],
                html`<a class="button" href="/console/new-spec?from=${key}&amp;version=${row.version}">Write the next version</a>`,
              )
        }
        ${section('Try a transform', previewForm(visit, { expression: firstTransform(row.specJson) }))}`,
    };
  },
});

function firstTransform(document: SpecVersionRow['specJson']): string {
  const resources = Array.isArray(document['resources']) ? document['resources'] : [];
  const transforms = resources.map((resource: { readonly transform?: unknown } | null) => resource?.transform);
  return transforms.find((transform) => typeof transform === 'string') ?? '{ "id": id }';
}

function buttons(visit: Visit, { status, version }: SpecVersionRow, key: string) {
  const to = (rest: string) => `${versionPath(key, version)}/${rest}`;
  if (status === 'draft')
    return [
      button(visit, {
        action: to('publish'),
        label: 'Publish',
        look: 'primary',
        confirm: 'Publish this version? It can never change after that. Save the document first.',
      }),
      button(visit, { action: to('delete'), label: 'Delete', look: 'danger', confirm: 'Delete this draft?' }),
    ];
  if (status === 'deprecated') return null;
  return [
    button(visit, {
      action: to('deprecate'),
      label: 'Deprecate',
      confirm: 'Close this version to new connections? Those pinned to it continue.',
    }),
    connectLink(key, version),
  ];
}

/** Throws not_found, conflict, validation (a test of the spec fails), 429. */
export const publish = action({
  path: '/specs/:key/:version/publish',
  params: VersionParams,
  handle: async ({ scope, params }, deps) => {
    await deps.costly.run(scope.orgId, 'side_by_side', () => publishVersion(deps, scope, params));
    return { to: versionPath(params.key, params.version), notice: 'published' };
  },
});

/** Closes a version to new connections and upgrades. Throws not_found, conflict (it is a draft). */
export const deprecate = action({
  path: '/specs/:key/:version/deprecate',
  params: VersionParams,
  handle: async ({ scope, params }, deps) => {
    await deprecateVersion(deps, scope, params);
    return { to: versionPath(params.key, params.version), notice: 'deprecated' };
  },
});

/** Throws not_found, immutable (it is published). */
export const removeDraft = action({
  path: '/specs/:key/:version/delete',
  params: VersionParams,
  handle: async ({ scope, params }, deps) => {
    await deleteDraft(deps, scope, params);
    return { to: '/console/specs', notice: 'draft-deleted' };
  },
});
