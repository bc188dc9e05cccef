/** Where a record comes from: the machine, who else was computing on it, and the revision, as the other records name them. */

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { arch, cpus, loadavg, platform, release, totalmem } from "node:os";

export interface Origin {
  readonly host: Readonly<Record<string, string | number | null>>;
  readonly build: Readonly<Record<string, string | boolean | null>>;
}

/** As it is now: before the measurement, which is load of its own. What cannot be told is null. */
export function origin(label: string | undefined): Origin {
  const changes = git("status", "--porcelain", "--", ":/", ":(top,exclude)bench/records");
  return {
    host: {
      label: label ?? null,
      cpu_model: cpus()[0]?.model ?? null,
      logical_cpus: cpus().length,
      memory_kib: Math.floor(totalmem() / 1024),
      load_average_1m: loadavg()[0] ?? null,
      kernel: release(),
      operating_system: platform(),
      architecture: arch(),
    },
    build: {
      revision: git("rev-parse", "HEAD"),
      // Records are written by the runs themselves and change no number.
      dirty: changes === null ? null : changes !== "",
      node: process.version,
      noble_post_quantum: dependency("@noble/post-quantum"),
      noble_hashes: dependency("@noble/hashes"),
    },
  };
}

/** The pinned version of a package that decides the numbers. */
function dependency(name: string): string | null {
  const file = new URL("../../package.json", import.meta.url);
  const { dependencies } = JSON.parse(readFileSync(file, "utf8")) as { dependencies: Record<string, string> };
  return dependencies[name] ?? null;
}

function git(...command: string[]): string | null {
  try {
    const cwd = new URL(".", import.meta.url);
    return execFileSync("git", command, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  } catch {
    return null;
  }
}
