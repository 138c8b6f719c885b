/** What bubblewrap tells on the descriptor of `--json-status-fd`, a JSON document each time. */
export class NamespaceReport {
  #text = '';

  add(chunk: Buffer): void {
    this.#text += chunk.toString();
  }

  /** The first process inside the sandbox, as seen from outside; its end is the end of all in there. */
  get innerPid(): number | undefined {
    const pid = /"child-pid": *(\d+)/.exec(this.#text)?.[1];
    return pid === undefined ? undefined : Number(pid);
  }

  /** The sandbox was set up, and the command begun in it: of anything else no exit code is told. */
  get hasRun(): boolean {
    return this.#text.includes('"exit-code"');
  }
}
