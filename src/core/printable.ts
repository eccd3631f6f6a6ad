/** Characters with which the text of an API could control a terminal. */
// oxlint-disable-next-line no-control-regex -- exactly these are replaced
const controls = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g;

/** Keeps line breaks. */
export const printable = (text: string): string => text.replaceAll(controls, '\ufffd');
