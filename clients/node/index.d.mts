/* SPDX-License-Identifier: MIT */
export * from "./index.js";
import * as belfry from "./index.js";
export default belfry;
