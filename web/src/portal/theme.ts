/** How the page looks: from the project of the address, and then from the page that embeds it. */
export interface Theme {
  title: string;
  logo_url: string;
  /** Empty: logo_url. */
  logo_url_dark: string;
  /** Names with commas between. Empty: that of the style sheet. */
  font: string;
  /** Empty: the default. */
  accent: string;
  radius: number;
  color_scheme: 'auto' | 'light' | 'dark';
  /** Empty: as the browser asks. */
  language: string;
  frame_origins: readonly string[];
}

export const DEFAULT_THEME: Theme = {
  title: '',
  logo_url: '',
  logo_url_dark: '',
  font: '',
  accent: '',
  radius: 5,
  color_scheme: 'auto',
  language: '',
  frame_origins: [],
};

/** Applies the part of the theme that an embedding page may change. Other values stay as they are. */
export function withHostTheme(theme: Theme, given: unknown): Theme {
  if (typeof given !== 'object' || given === null) return theme;
  const { accent, radius, color_scheme, language, font } = given as Record<string, unknown>;
  return {
    ...theme,
    ...(typeof accent === 'string' && /^#[0-9a-f]{6}$/i.test(accent) ? { accent } : {}),
    ...(typeof radius === 'number' && radius >= 0 && radius <= 16 ? { radius } : {}),
    ...(color_scheme === 'auto' || color_scheme === 'light' || color_scheme === 'dark'
      ? { color_scheme }
      : {}),
    ...(typeof font === 'string' && font.length <= 128 && /^[a-z0-9 _,-]*$/i.test(font) ? { font } : {}),
    ...(typeof language === 'string' && /^[a-z]{2}$/.test(language) ? { language } : {}),
  };
}

type Rgb = readonly [number, number, number];
const WHITE: Rgb = [255, 255, 255];
/** The ground of the dark page, and the text on a light accent. */
const DARK: Rgb = [16, 18, 20];

const parse = (hex: string): Rgb =>
  [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)) as never;
const write = (rgb: Rgb): string => `#${rgb.map((part) => part.toString(16).padStart(2, '0')).join('')}`;
const mix = (from: Rgb, to: Rgb, share: number): Rgb =>
  from.map((part, at) => Math.round(part + ((to[at] ?? 0) - part) * share)) as never;

function luminance(rgb: Rgb): number {
  const [red = 0, green = 0, blue = 0] = rgb.map((part) => {
    const share = part / 255;
    return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

export function contrast(one: Rgb, other: Rgb): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].toSorted((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

/** The colour, moved away from the ground until text in it can be read there: 4.5 to 1, as WCAG AA asks. */
function readable(accent: Rgb, ground: Rgb): Rgb {
  const away: Rgb = ground === WHITE ? [0, 0, 0] : WHITE;
  for (let share = 0; share < 1; share += 0.05) {
    const shade = mix(accent, away, share);
    // Chosen and hovered rows are a little off the ground.
    if (contrast(shade, ground) >= 5.2) return shade;
  }
  return away;
}

const GENERIC_FONTS = new Set(['serif', 'sans-serif', 'monospace', 'system-ui', 'ui-rounded', 'ui-serif']);

/** The value of `font-family`. Empty: that of the style sheet. */
export function fontFamily({ font }: Pick<Theme, 'font'>): string {
  const names = font
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
    .map((name) => (GENERIC_FONTS.has(name) ? name : `"${name}"`));
  return names.length === 0 ? '' : [...names, 'var(--font-sans)'].join(', ');
}

/** The variables of the style sheet that a theme sets. */
export function themeVariables({ accent, radius }: Pick<Theme, 'accent' | 'radius'>): Record<string, string> {
  const corners = {
    '--radius-md': `${radius}px`,
    '--radius-sm': `${Math.round(radius * 0.6)}px`,
  };
  if (!/^#[0-9a-f]{6}$/i.test(accent)) return corners;
  const given = parse(accent);
  const light = readable(given, WHITE);
  const dark = readable(given, DARK);
  const on = (ground: Rgb): string => write(contrast(ground, WHITE) >= contrast(ground, DARK) ? WHITE : DARK);
  return {
    ...corners,
    '--color-accent': `light-dark(${write(light)}, ${write(dark)})`,
    '--color-accent-ground': `light-dark(${write(light)}, ${write(dark)})`,
    '--color-on-accent': `light-dark(${on(light)}, ${on(dark)})`,
    '--color-chosen': `light-dark(${write(mix(WHITE, given, 0.1))}, ${write(mix(DARK, given, 0.2))})`,
  };
}
