import type { Page } from 'playwright-core';

/** What a reader has to scroll sideways for, and the states and times of a list that are cut. Code may scroll. */
export const outOfSight = (page: Page): Promise<string[]> =>
  page.evaluate(`(() => {
    const isWider = ({ scrollWidth, clientWidth }) => scrollWidth > clientWidth;
    const scrolls = (element) => ['auto', 'scroll'].includes(getComputedStyle(element).overflowX);
    const all = (selector) => [...document.querySelectorAll(selector)];
    return [document.documentElement, ...all('body *').filter(scrolls), ...all('[role=cell]:has(time, svg)')]
      .filter((element) => isWider(element) && element.closest('pre, code, .cm-editor') === null)
      .map((element) => element.tagName + ' ' + (element.ariaLabel ?? '') + ' ' + element.innerText.slice(0, 60));
  })()`);
