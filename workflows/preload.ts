/**
 * What a worker evaluates once for all its agents. Each agent has its own copy of every other module, and the
 * protocol's schemas with zod below them are most of it.
 */
declare global {
  interface ImportMeta {
    /** Webpack's: the modules of a folder. This file is never run but in the workflow bundle. */
    webpackContext(
      folder: string,
      options: { recursive: boolean; regExp: RegExp },
    ): { (file: string): object; keys(): string[] };
  }
}

const protocol = import.meta.webpackContext('../protocol', {
  recursive: false,
  regExp: /^(?!.*\.d\.ts$).*\.[jt]s$/,
});

// The SDK freezes whatever it has preloaded, down to the last property, and a frozen schema of zod's cannot make the
// methods it makes when they are first asked for. What is frozen already is left alone, so its content stays as it is.
for (const file of protocol.keys()) Object.freeze(protocol(file));
