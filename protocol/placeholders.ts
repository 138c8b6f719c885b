/**
 * An empty folder that says it was last changed at this time (ms since 1970) stands in for one that is missing, while
 * commands run beside it: it is no repository and no folder of settings. Whatever is done in it changes the time.
 */
export const PLACEHOLDER_TIME = Date.UTC(2001, 1, 3, 4, 5, 6);
