/** As many as the file system does at once; more would only keep others waiting. */
const AT_ONCE = 8;

/**
 * Does the same for all items, several at a time. After a failure no more are begun; those under way end first.
 *
 * @throws the first failure
 */
export async function forSeveral<T>(
  items: readonly T[],
  work: (item: T, index: number) => Promise<void>,
): Promise<void> {
  const waiting = items.entries();
  const failures: unknown[] = [];
  const lane = async () => {
    for (const [index, item] of waiting) {
      await work(item, index).catch((error: unknown) => failures.push(error));
      if (failures.length > 0) return;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  if (failures.length > 0) throw failures[0];
}
