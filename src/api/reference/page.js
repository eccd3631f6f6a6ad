// Shows the description of this interface, from the place where this page is.
Scalar.createApiReference('#reference', {
  url: 'openapi.json',
  // Nothing is loaded from elsewhere, reported or sent to others: docs/adr/0048-a-reference-and-a-client-from-one-document.md.
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: 'never',
  hideClientButton: true,
  documentDownloadType: 'json',
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
  metaData: { title: 'API reference' },
  // An operation that a link leads to gets the focus: its outline would be two lines along the whole page. Keys still show
  // where they are. Yellow on white cannot be read.
  customCss: `
    section.section:focus { outline: none; }
    .light-mode { --scalar-color-yellow: #8a5a00; }
  `,
});
