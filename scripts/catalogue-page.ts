import { openCatalogue, readVerification } from '../src/catalogue/catalogue.ts';
import type { CatalogueConnector } from '../src/core/resources/catalogue.ts';

/** The text of docs/connectors/catalogue.md. */
export async function renderCatalogue(): Promise<string> {
  const connectors = await openCatalogue().list();
  const rows = await Promise.all(connectors.map(rowOf));
  return `${head(connectors)}\n| connector | resources | verified against | records synced | tests |\n|---|---|---|---|---|\n${rows.join('\n')}\n`;
}

async function rowOf({ key, name, resources, spec, verifiedAgainst }: CatalogueConnector): Promise<string> {
  const verification = await readVerification(new URL(`../connectors/${key}/`, import.meta.url));
  const { tests } = spec;
  const cells = [
    `[${name}](../../connectors/${key}/README.md)`,
    resources.map((resource) => `\`${resource}\``).join(', '),
    verifiedAgainst.on === null ? words.tests : `${words[verifiedAgainst.kind]}, ${verifiedAgainst.on}`,
    verification?.recordsSynced?.toLocaleString('en') ?? '',
    String(Array.isArray(tests) ? tests.length : 0),
  ];
  return `| ${cells.join(' | ')} |`;
}

const words = { server: 'a real server', description: "the vendor's description", tests: 'its own tests' };

const head = (connectors: readonly CatalogueConnector[]): string => {
  const count = (kind: CatalogueConnector['verifiedAgainst']['kind']) =>
    connectors.filter(({ verifiedAgainst }) => verifiedAgainst.kind === kind).length;
  return `# Ready connectors

${connectors.length} connectors come with the service, in the folder \`connectors\`: a spec, a page that says how each resource finds changes and
deletes, and tests in the spec that run with every change of the service. \`npm run generate\` writes this page.

Not every one was verified as far as the others. ${count('server')} synced a real server. ${count('description')} were compared with the vendor's own description of the
API: an OpenAPI document, or only the names in the vendor's client, which says little about where a field belongs. ${count('tests')} have passed only
their own tests, whose responses have the documented form. The page of each connector says which.

## Use one

In the [console](../console.md): *Catalogue*. By the API, \`GET /api/v1/catalogue\` lists them; create a draft from the spec of one, and publish it:

\`\`\`sh
curl -s $api/catalogue/github -H "$auth" | jq .spec | curl -s $api/specs -H "$auth" --data-binary @-
curl -s $api/specs/github/versions/1.0.0/publish -H "$auth" -X POST
\`\`\`

No spec of the catalogue has a \`destination\`: records go to the one of the deployment (\`DEFAULT_DESTINATION\`), into a schema of
the org. A connection has its own
by its overrides, which also declare the secret (\`PATCH /connections/:id\`):

\`\`\`json
{
  "specOverridesJson": {
    "connectionParams": [{ "key": "databaseUrl", "type": "string", "secret": true }],
    "destination": { "kind": "postgres", "url": "{{ secrets.databaseUrl }}", "schema": "github" }
  },
  "secrets": { "databaseUrl": "postgres://…" }
}
\`\`\`

Records are delivered as the API has them. To change one, copy the spec under a key of your own, or override \`transform\`.

## Which there are
`;
};
