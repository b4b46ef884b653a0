import { useState } from 'react';
import type { TimeStyle } from '../ui/text/time.tsx';

/** The choices of the reader, kept in this browser. */
export type Theme = 'system' | 'light' | 'dark';

export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}

export const storedTheme = (): Theme => {
  const stored = localStorage.getItem('posthorn.theme');
  return stored === 'light' || stored === 'dark' ? stored : 'system';
};

export function useTheme(): readonly [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(storedTheme);
  return [
    theme,
    (chosen) => {
      localStorage.setItem('posthorn.theme', chosen);
      applyTheme(chosen);
      setTheme(chosen);
    },
  ];
}

export function useTimeStyle(): readonly [TimeStyle, (style: TimeStyle) => void] {
  const [style, setStyle] = useState<TimeStyle>(() => ({
    exact: localStorage.getItem('posthorn.exact') === 'yes',
    utc: localStorage.getItem('posthorn.utc') === 'yes',
  }));
  return [
    style,
    (chosen) => {
      localStorage.setItem('posthorn.exact', chosen.exact ? 'yes' : 'no');
      localStorage.setItem('posthorn.utc', chosen.utc ? 'yes' : 'no');
      setStyle(chosen);
    },
  ];
}
