import * as v from 'valibot';
import { listingOf } from '../../../db/listing.ts';
import { shippedCatalogue as catalogue } from '../../catalogue/catalogue.ts';
import { found } from '../../core/errors.ts';
import { SpecKey } from '../../core/json/property-names.ts';
import { CatalogueConnector, CatalogueRow } from '../../core/resources/catalogue.ts';
import { nameParam } from '../inputs.ts';
import { route } from '../route.ts';

const noun = 'Connector';
const tag = 'catalogue';

export const catalogueRoutes = [
  route({
    method: 'get',
    path: '/catalogue',
    summary: 'List the ready connectors',
    tag,
    auth: 'api_key',
    status: 200,
    response: v.array(CatalogueRow),
    errors: [],
    handle: async () => listingOf((await catalogue.list()).map(withoutDocuments)),
  }),
  route({
    method: 'get',
    path: '/catalogue/:key',
    summary: 'Read a ready connector: its spec and its page',
    description: 'To use it, create a draft from `spec` by `POST /specs`, and publish it.',
    tag,
    auth: 'api_key',
    params: v.object({ key: nameParam(SpecKey, { noun, example: 'github' }) }),
    status: 200,
    response: CatalogueConnector,
    errors: ['not_found'],
    handle: async ({ params }) => found(await catalogue.find(params.key), noun),
  }),
];

const withoutDocuments = ({ spec: _spec, readme: _readme, ...row }: CatalogueConnector): CatalogueRow => row;
