// The document's URL is relative to this page.
Scalar.createApiReference('#reference', {
  url: 'openapi.json',
  // Nothing is loaded from elsewhere, reported or sent to others:
  // docs/adr/0048-a-reference-and-a-client-from-one-document.md.
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: 'never',
  hideClientButton: true,
  documentDownloadType: 'json',
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
  metaData: { title: 'API reference' },
  // A linked operation gets the focus, and its outline would be two lines along the page. Keys still show their focus.
  // Yellow on white is unreadable.
  customCss: `
    section.section:focus { outline: none; }
    .light-mode { --scalar-color-yellow: #8a5a00; }
  `,
});
