import { type AddressInfo, createServer, connect as dial, type Server, type Socket } from 'node:net';

/** How a network fails: at once and loudly, or without a word. */
export type CutKind = 'refused' | 'silent';

/** A port of loopback that leads to another one for as long as nobody cuts it. */
export class Cable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Connections that came while it was silent. */
  #held: Socket[] = [];
  #cut: CutKind | undefined;
  /** Where it leads to: a server that was started anew may have another port. */
  target: number;

  private constructor(target: number) {
    this.target = target;
    this.#server = createServer((near) => this.#take(near));
  }

  static async to(target: number): Promise<Cable> {
    const cable = new Cable(target);
    await new Promise<void>((resolve, reject) => {
      cable.#server.once('error', reject).listen(0, '127.0.0.1', resolve);
    });
    return cable;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** `refused` breaks every connection and takes no new one; in a `silent` one nothing moves. */
  cut(kind: CutKind): void {
    this.#cut = kind;
    for (const socket of this.#sockets) {
      if (kind === 'refused') socket.destroy();
      else socket.pause();
    }
  }

  mend(): void {
    this.#cut = undefined;
    for (const socket of this.#sockets) socket.resume();
    for (const near of this.#held.splice(0)) this.#join(near);
  }

  close(): Promise<void> {
    for (const socket of [...this.#sockets, ...this.#held]) socket.destroy();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  #take(near: Socket): void {
    near.on('error', () => {});
    if (this.#cut === 'refused') near.destroy();
    else if (this.#cut === 'silent') this.#held.push(near.pause());
    else this.#join(near);
  }

  #join(near: Socket): void {
    const far = dial(this.target, '127.0.0.1');
    this.#lead(near, far);
    this.#lead(far, near);
    // One that was held does not begin by itself.
    near.resume();
  }

  #lead(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    // Not `pipe`, which would set a silent one in motion again.
    from.on('data', (chunk) => void to.write(chunk));
    from.on('end', () => to.end());
    from.on('error', () => {});
    from.once('close', () => {
      this.#sockets.delete(from);
      to.destroy();
    });
  }
}
