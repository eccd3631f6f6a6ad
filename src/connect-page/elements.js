/** Parts of the page. */

/**
 * Children are nodes or text, never markup.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag @param {Record<string, string>} [attributes] @param {(Node | string)[]} children
 */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** Stroked paths in a box of 16: many people cannot tell colors apart. */
const shapes = {
  waiting: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 1 0 0-11',
  running: 'M13 8a5 5 0 1 1-1.5-3.5M12 1.5V5H8.5',
  ok: 'M2.5 8.5 6 12l7.5-8',
  failed: 'm3.5 3.5 9 9m0-9-9 9',
};

/** @param {keyof typeof shapes} shape */
function icon(shape) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  svg.setAttribute('viewBox', '0 0 16 16');
  svg.setAttribute('aria-hidden', 'true');
  path.setAttribute('d', shapes[shape]);
  svg.append(path);
  return svg;
}

/** @param {string} text @param {string | number} name */
const fill = (text, name) => text.replace('{0}', () => String(name));

/** @param {string} text @param {() => void} act @param {string} [look] */
function button(text, act, look = '') {
  const made = element('button', { type: 'button', class: look }, text);
  made.addEventListener('click', act);
  return made;
}

/** A button with the color of the org needs a text that can be read on it. @param {string} color */
const textOn = (color) => {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? '#000' : '#fff';
};
