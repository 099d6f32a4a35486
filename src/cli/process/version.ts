import manifest from '../../../package.json' with { type: 'json' }

/** Set by scripts/build.mjs: undefined when run from sources, empty in a build without git. */
declare const BUILT_FROM_COMMIT: string

export const VERSION: string = manifest.version

/** Seven digits, `+changes` for modified sources; undefined if unknown. */
export const COMMIT: string | undefined =
  (typeof BUILT_FROM_COMMIT === 'string' && BUILT_FROM_COMMIT) || undefined

/** `tranched 0.1.0 (741c21a)`. */
export const VERSION_TEXT = `tranched ${VERSION}${COMMIT === undefined ? '' : ` (${COMMIT})`}`
