/** The operation was carried out, but what came of it is a failure: the output says so, and counts as one. */
export class Failed extends Error {
  override readonly name = 'Failed';
  readonly result: unknown;

  constructor(result: unknown) {
    super('the operation ended in a failure');
    this.result = result;
  }
}
