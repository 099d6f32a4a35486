import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { EXIT, type ExitCode, type Io, printJson } from '../../io.ts'

/** What `init` writes, and the file of this package that it is a copy of. */
const FILES: readonly (readonly [to: string, from: string])[] = [
  ['config/live.yaml', 'config/live.example.yaml'],
  ['config/sandbox.yaml', 'config/sandbox.yaml'],
  ['strategies/weekly-eth.yaml', 'strategies/weekly-eth.yaml'],
  ['strategies/sandbox/buy-weth.yaml', 'strategies/sandbox/buy-weth.yaml'],
  ['ecosystem.config.cjs', 'ecosystem.config.cjs'],
]

/** In live mode nobody else may write what says what is signed. */
const FILE_MODE = 0o644
const DIRECTORY_MODE = 0o755

/** Private keys and state belong in no repository. */
const IGNORED = 'keys/\ndata/\n'

/** `tranched init`: a directory to start from. Never overwrites a file. */
export async function init(options: { dir: string; json?: boolean }, io: Io): Promise<ExitCode> {
  const dir = resolve(options.dir)
  const root = packageRoot()
  const written: string[] = []
  const kept: string[] = []
  for (const [to, from] of FILES) {
    const target = join(dir, to)
    await mkdir(dirname(target), { recursive: true, mode: DIRECTORY_MODE })
    const text = await readFile(join(root, from), 'utf8')
    ;(await writeNew(target, text)) ? written.push(to) : kept.push(to)
  }
  await mkdir(join(dir, 'keys'), { recursive: true, mode: 0o700 })
  if (await writeNew(join(dir, '.gitignore'), IGNORED)) written.push('.gitignore')
  if (options.json) printJson(io, { dir, written, kept })
  else io.stdout.write(textOf(dir, written, kept))
  return EXIT.done
}

function textOf(dir: string, written: readonly string[], kept: readonly string[]): string {
  const lines = [`in ${dir}:`]
  for (const file of written) lines.push(`  wrote ${file}`)
  for (const file of kept) lines.push(`  kept  ${file} (it was there already)`)
  lines.push(
    '',
    'Next: tranched run --config config/sandbox.yaml    rehearse, no key and no network',
    '      tranched wallet new --out keys/trader.json   then fill in config/live.yaml',
    '      tranched validate --config config/live.yaml',
  )
  return `${lines.join('\n')}\n`
}

async function writeNew(file: string, text: string): Promise<boolean> {
  try {
    await writeFile(file, text, { flag: 'wx', mode: FILE_MODE })
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}

/** The directory of this package, whether the code runs from its sources or from the bundle. */
export function packageRoot(): string {
  let dir = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(dir, 'package.json'))) {
    const parent = dirname(dir)
    if (parent === dir)
      throw new Error('the files of this package are incomplete: install it again')
    dir = parent
  }
  return dir
}
