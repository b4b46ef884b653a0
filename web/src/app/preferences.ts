import { useState } from 'react';
import { chooseTheme, storedTheme, type Theme } from '../ui/page/theme.ts';
import type { TimeStyle } from '../ui/text/time.tsx';

/** The choices of the reader, kept in this browser. */
export function useTheme(): readonly [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(storedTheme);
  return [
    theme,
    (chosen) => {
      chooseTheme(chosen);
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
