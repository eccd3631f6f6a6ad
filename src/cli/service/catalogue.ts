import * as v from 'valibot';
import { CatalogueConnector, CatalogueRow } from '../../core/resources/catalogue.ts';
import { type CommandResult, table } from '../output.ts';
import type { Tools } from '../tools.ts';
import { putDraft } from './put-draft.ts';
import { openService, type ServiceArguments, segment } from './service.ts';

export async function listCatalogue(tools: Tools, args: ServiceArguments): Promise<CommandResult> {
  const service = await openService(tools, args);
  const rows = await service.call(v.array(CatalogueRow), 'GET', '/catalogue');
  return {
    json: rows,
    lines: table(
      rows.map(({ key, version, verifiedAgainst, resources }) => [
        key,
        version,
        `verified by ${verifiedAgainst.kind}`,
        resources.join(', '),
      ]),
    ),
  };
}

/** Makes a draft of the org from a connector that comes with the service. */
export async function addFromCatalogue(tools: Tools, key: string, args: ServiceArguments): Promise<CommandResult> {
  const service = await openService(tools, args);
  const { spec, version, verifiedAgainst } = await service.call(
    CatalogueConnector,
    'GET',
    `/catalogue/${segment(key)}`,
  );
  const document = { text: JSON.stringify(spec), type: 'application/json' } as const;
  const { action, row } = await putDraft(service, { key, version }, document);
  return {
    json: { action, key, version: row.version, status: row.status, checksum: row.checksum },
    lines: [
      `${action} the draft ${key}@${row.version} at ${service.address.url}`,
      `  ${verifiedAgainst.statement}`,
      `  css publish ${key}@${row.version} freezes it.`,
    ],
  };
}
