/** Minimal, but with the parts that most APIs need. */
export const exampleSpec = `metadata:
  key: acme-crm
  name: Acme CRM
  version: 1.0.0

# What each customer fills in. Secrets are encrypted and never shown.
connectionParams:
  - { key: token, type: string, secret: true }
  - { key: databaseUrl, type: string, secret: true }

auth:
  kind: bearer
  token: "{{ secrets.token }}"

http:
  baseUrl: https://api.acme.example

resources:
  - key: contacts
    primaryKey: [id]
    request:
      path: /contacts
      query: { limit: "{{ page.size }}" }
    response:
      records: data
    pagination:
      kind: cursor
      next: body.next_cursor
      size: 100
      inject: { in: query, name: cursor }
    transform: '{ "id": id, "email": $lowercase(email), "city": address.city }'
    target:
      table: contacts

destination:
  kind: postgres
  url: "{{ secrets.databaseUrl }}"
`;
