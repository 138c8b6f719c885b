/** The smallest images of each format that models are shown, one pixel each. */
export const IMAGES = {
  png: Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  ),
  gif: Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64'),
  webp: Buffer.from('UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA', 'base64'),
  jpeg: Buffer.concat([
    Buffer.from(
      'ffd8ffe000104a46494600010101004800480000ffdb004300' +
        'ff'.repeat(64) +
        'ffc2000b080001000101011100ffc40014100100000000000000000000000000000000ffda0008010100013f10ffd9',
      'hex',
    ),
  ]),
} as const;
