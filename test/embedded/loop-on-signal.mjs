/** Loaded into processes under test by NODE_OPTIONS: SIGUSR2 sends their event loop into a loop that never ends. */
process.on('SIGUSR2', () => {
  for (;;);
});
