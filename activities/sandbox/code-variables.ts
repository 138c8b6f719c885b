import { delimiter } from 'node:path';
import { withoutFillable } from './outside-path.ts';
import { isForLoader } from './sandboxed-command.ts';

type Environment = Readonly<Record<string, string>>;

/** Files that shells run before they do what they are told. */
export const RUN_FIRST: readonly string[] = ['BASH_ENV', 'ENV'];

/** Lists of places from which languages load code, some of it before what they are told to run. */
const LIBRARIES =
  'PYTHONPATH PYTHONHOME NODE_PATH PERL5LIB PERLLIB RUBYLIB GEM_HOME GEM_PATH CLASSPATH'.split(' ');

/** Options among which files or packages are named that are loaded first. */
const OPTIONS = new Map([
  [
    'NODE_OPTIONS',
    /(?:^|[\s"])(?:-r|--require|--import|--(?:experimental-)?loader)(?:=|\s+)["']?([^\s"']+)/g,
  ],
  ['RUBYOPT', /(?:^|\s)-[rI]\s*(\S+)/g],
  ['PERL5OPT', /(?:^|\s)-I\s*(\S+)/g],
  ['JAVA_TOOL_OPTIONS', /(?:^|\s)-(?:javaagent|agentpath|Djava\.(?:class|library)\.path)[:=](\S+)/g],
]);

/** The environment without code of repositories and contained commands, of which no variable names any then. */
export function withoutFillableCode(environment: Environment, fillable: readonly string[]): Environment {
  const kept = Object.entries(environment).flatMap(([name, value]) => {
    const options = OPTIONS.get(name);
    if (options !== undefined) return isLoadedFromOwn(value, options, fillable) ? [[name, value]] : [];
    if (!isForLoader(name) && !RUN_FIRST.includes(name) && !LIBRARIES.includes(name)) return [[name, value]];
    const rest = withoutFillable(value.replace(/[ ;]/g, delimiter), fillable);
    return rest.length === 0 ? [] : [[name, rest.join(delimiter)]];
  });
  return Object.fromEntries(kept);
}

/** A package would be looked up where the program runs. */
function isLoadedFromOwn(value: string, options: RegExp, fillable: readonly string[]): boolean {
  const places = [...value.matchAll(options)].map(([, place = '']) => place);
  return places.every((place) => withoutFillable(place, fillable).length > 0);
}
