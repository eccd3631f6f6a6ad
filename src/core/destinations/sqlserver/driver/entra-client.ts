import { type EntraHost, entraHosts } from '../../../spec/schema/entra-hosts.ts';
import type { AddressFields, DestinationOptions } from '../../sql/address-fields.ts';

export interface EntraClient {
  readonly kind: 'entra_client_credentials';
  readonly tenantId: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly authorityHost: EntraHost;
}

/** Throws `destination_rejected`; messages repeat no value. */
export function entraClient(authentication: unknown, fields: AddressFields): EntraClient {
  const { text, required, refused } = fields;
  if (typeof authentication !== 'object' || authentication === null) throw refused('`authentication` is not an object');
  const options = authentication as DestinationOptions;
  if (options['kind'] !== 'entra_client_credentials') throw refused('`authentication` has an unknown kind');
  const wanted = text(options, 'authorityHost') ?? 'login.microsoftonline.com';
  const authorityHost = entraHosts.find((host) => host === wanted);
  if (!authorityHost) throw refused('`authorityHost` is not a host of Entra ID');
  const tenantId = required('tenantId', text(options, 'tenantId'));
  // It becomes a part of the path of the request.
  if (!/^[\w.-]{1,253}$/.test(tenantId) || /^\.+$/.test(tenantId))
    throw refused('`tenantId` is not the id or domain of an Entra tenant');
  return {
    kind: 'entra_client_credentials',
    tenantId,
    clientId: required('clientId', text(options, 'clientId')),
    clientSecret: required('clientSecret', text(options, 'clientSecret')),
    authorityHost,
  };
}
