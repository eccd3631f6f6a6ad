import type { ReadyFacts } from '../ready-file.ts';
import type { Screen } from './console.ts';
import { targetTable } from './specs.ts';

export interface Links {
  readonly ready: Pick<ReadyFacts, 'apiUrl' | 'uiUrl' | 'temporalNamespace'>;
  readonly apiKey: string;
  readonly destinationUrl: string;
  readonly logFile: string;
  readonly upstreamUrl: string;
  readonly connectionId: string;
}

export function showLinks(screen: Screen, links: Links): void {
  const { apiKey, destinationUrl, logFile, upstreamUrl, connectionId } = links;
  const { apiUrl, uiUrl, temporalNamespace: namespace } = links.ready;
  const query = encodeURIComponent(`\`CssConnectionId\`='${connectionId}'`).replaceAll("'", '%27');
  const { schema, table } = targetTable;
  const header = `-H "authorization: Bearer ${apiKey}"`;
  screen.box('Everything is running. Try these:', [
    ['API', `${apiUrl}/api/v1`],
    ['OpenAPI document', `${apiUrl}/api/v1/openapi.json`],
    ...(uiUrl === null
      ? []
      : [['its runs in Temporal', `${uiUrl}/namespaces/${namespace}/workflows?query=${query}`] as const]),
    ['its runs in the API', `curl -s ${header} "${apiUrl}/api/v1/runs?connectionId=${connectionId}"`],
    ['change 5 records', `curl -s -X POST -d '{"count":5}' ${upstreamUrl}/control/touch`],
    [
      'sync them',
      `curl -s -X POST ${header} -d '{"resource":"cities"}' ${apiUrl}/api/v1/connections/${connectionId}/sync`,
    ],
    ['read them', `psql "${destinationUrl}" -c "select * from ${schema}.${table} order by updated_at desc limit 5"`],
    ['logs', logFile],
    ['stop', 'Ctrl-C stops everything; npm run demo -- --reset wipes the data'],
  ]);
}
