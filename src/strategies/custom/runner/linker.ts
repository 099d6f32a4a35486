import { createHash } from 'node:crypto'
import { readFileSync, realpathSync } from 'node:fs'
import { createRequire, isBuiltin } from 'node:module'
import { extname } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import {
  compileFunction,
  type Module,
  SourceTextModule,
  type SourceTextModuleOptions,
  SyntheticModule,
} from 'node:vm'
import { codeOf } from '../../../domain/errors.ts'
import { firstLine, importPlaceOf, placeOf, textOf } from './interface.ts'

/** Packages that the runner provides, by name. */
type Given = Readonly<Record<string, Readonly<Record<string, unknown>>>>

const CJS_ARGUMENTS = ['exports', 'require', 'module', '__filename', '__dirname']
/** Literal names in `require`. A match in a comment only costs reading a file. */
const REQUIRED = /\brequire\s*\(\s*(['"`])([^'"`$\r\n]{1,500})\1\s*\)/g
/** Bounds of reading ahead. Beyond them, a module must load everything at its start. */
const AHEAD_FILES_MAX = 2_000
const AHEAD_CHARACTERS_MAX = 32 * 1_048_576

/**
 * Loads an ES module and its imports: files of its folder, packages of `node_modules` above it, JSON, and given packages.
 * Files that it may load later are read at its start and belong to its version; afterwards no file is read. Node's own
 * loader cannot restrict imports under the permission model of Node 20, and would expose parts of Node that reach the
 * network.
 */
export class Linker {
  readonly #given: Given
  readonly #modules = new Map<string, Promise<Module>>()
  readonly #required = new Map<string, { exports: unknown }>()
  readonly #digest = createHash('sha256')
  /** Text by file, so that no file is read twice. */
  readonly #texts = new Map<string, string>()
  #isClosed = false

  constructor(given: Given) {
    this.#given = given
  }

  /** Digest of everything read so far. */
  get version(): string {
    return this.#digest.copy().digest('hex')
  }

  /** Loads and runs a file; afterwards no file is read. */
  async load(file: string): Promise<Readonly<Record<string, unknown>>> {
    const module = await this.#module(pathToFileURL(file).href)
    const exports = await this.#run(module)
    this.#readAhead()
    this.#isClosed = true
    return exports
  }

  /**
   * Reads, without running it, everything that `decide` may require. A late `import()` cannot work, because nothing async
   * runs then.
   */
  #readAhead(): void {
    let characters = 0
    // The map grows during the loop.
    for (const [file, text] of this.#texts) {
      characters += text.length
      if (this.#texts.size > AHEAD_FILES_MAX || characters > AHEAD_CHARACTERS_MAX) return
      if (extname(file) === '.json') continue
      for (const [, , specifier = ''] of text.matchAll(REQUIRED)) this.#tryToRead(specifier, file)
    }
  }

  /** Ignores missing files, which fail when they are loaded. */
  #tryToRead(specifier: string, from: string): void {
    if (Object.hasOwn(this.#given, specifier) || isBuiltin(specifier)) return
    try {
      this.#read(createRequire(from).resolve(specifier))
    } catch {
      // See above.
    }
  }

  async #run(module: Module): Promise<Readonly<Record<string, unknown>>> {
    if (module.status === 'unlinked') await module.link(this.#link)
    await module.evaluate()
    return module.namespace as Readonly<Record<string, unknown>>
  }

  readonly #link = async (
    specifier: string,
    { identifier }: { readonly identifier: string },
  ): Promise<Module> => {
    try {
      return await this.#module(this.#resolve(specifier, identifier))
    } catch (error) {
      // Node itself reports the place of a syntax error.
      if (error instanceof SyntaxError || placeOf(error) !== '') throw error
      const text = this.#texts.get(fileURLToPath(identifier)) ?? ''
      const place = importPlaceOf(specifier, identifier, text)
      throw new Error(`${firstLine(textOf(error))}${place}`)
    }
  }

  /** The address of a file, or the name of a given package. */
  #resolve(specifier: string, from: string): string {
    if (Object.hasOwn(this.#given, specifier)) return specifier
    refuseBuiltin(specifier)
    return import.meta.resolve(specifier, from)
  }

  #module(address: string): Promise<Module> {
    const known = this.#modules.get(address)
    if (known !== undefined) return known
    const made = this.#make(address)
    this.#modules.set(address, made)
    return made
  }

  async #make(address: string): Promise<Module> {
    const given = this.#given[address]
    if (given !== undefined) return synthetic(address, given)
    const file = fileURLToPath(address)
    switch (extname(file)) {
      case '.mjs':
        return this.#source(address, this.#read(file))
      case '.js':
        return this.#either(address, file)
      case '.cjs':
      case '.json':
        return this.#common(address, this.#require(file))
      default:
        throw new Error(`${file}: a module may import .mjs, .js, .cjs and .json`)
    }
  }

  /** A `.js` is an ES module if it fails to parse as CommonJS. */
  #either(address: string, file: string): Module {
    try {
      return this.#common(address, this.#require(file))
    } catch (error) {
      if (!(error instanceof SyntaxError) || this.#required.has(file)) throw error
      return this.#source(address, this.#read(file))
    }
  }

  #source(identifier: string, text: string): Module {
    const options: SourceTextModuleOptions = {
      identifier,
      initializeImportMeta(meta) {
        const filename = fileURLToPath(identifier)
        Object.assign(meta, { url: identifier, filename })
      },
      importModuleDynamically: async (specifier) => {
        const module = await this.#link(specifier, { identifier })
        await this.#run(module)
        return module
      },
    }
    return new SourceTextModule(text, options)
  }

  /** CommonJS exports as an ES module: the whole as default, the fields by name. */
  #common(address: string, exports: unknown): Module {
    const fields = exports instanceof Object ? exports : {}
    return synthetic(address, { ...fields, default: exports })
  }

  #require(file: string): unknown {
    const known = this.#required.get(file)
    if (known !== undefined) return known.exports
    const text = this.#read(file)
    if (extname(file) === '.json') return JSON.parse(text)
    const run = compileFunction(text, CJS_ARGUMENTS, { filename: file }) as (
      ...given: unknown[]
    ) => void
    const module = { exports: {} }
    this.#required.set(file, module)
    const { resolve } = createRequire(file)
    const require = (specifier: string): unknown => {
      const given = this.#given[specifier]
      if (given !== undefined) return given
      refuseBuiltin(specifier)
      return this.#require(resolve(specifier))
    }
    run.call(
      module.exports,
      module.exports,
      require,
      module,
      file,
      file.replace(/[/\\][^/\\]*$/, ''),
    )
    return module.exports
  }

  #read(file: string): string {
    const known = this.#texts.get(file)
    if (known !== undefined) return known
    if (this.#isClosed)
      throw new Error(
        `it loads ${file} late, which was not read at its start: require it at the top of a file, or by its plain name`,
      )
    const text = readFile(file)
    this.#texts.set(file, text)
    this.#digest.update(`${file}\0${text}\0`)
    return text
  }
}

/** Resolves links first, because the permission model checks a link's target. */
function readFile(file: string): string {
  try {
    return readFileSync(realpathSync(file), 'utf8')
  } catch (error) {
    if (codeOf(error) !== 'ERR_ACCESS_DENIED') throw error
    throw new Error(
      `${file} is outside the module's reach, which is its folder and node_modules above it`,
    )
  }
}

function refuseBuiltin(specifier: string): void {
  if (isBuiltin(specifier))
    throw new Error(`it imports ${specifier}, and modules cannot use Node's own modules`)
}

function synthetic(identifier: string, exports: Readonly<Record<string, unknown>>): Module {
  const names = Object.keys(exports)
  return new SyntheticModule(
    names,
    function give(this: SyntheticModule) {
      for (const name of names) this.setExport(name, exports[name])
    },
    { identifier },
  )
}
