import manifest from '../../package.json' with { type: 'json' }

/** Put in by scripts/build.mjs. Not there where the sources themselves run, and empty in a build without git. */
declare const BUILT_FROM_COMMIT: string

export const VERSION: string = manifest.version

/** Seven digits, with `+changes` behind them where the sources had some; undefined where it is not known. */
export const COMMIT: string | undefined =
  (typeof BUILT_FROM_COMMIT === 'string' && BUILT_FROM_COMMIT) || undefined

/** Which program this is, for a person: `tranched 0.1.0 (741c21a)`. */
export const VERSION_TEXT = `tranched ${VERSION}${COMMIT === undefined ? '' : ` (${COMMIT})`}`
