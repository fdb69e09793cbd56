// The page's beginning. views.js says how to add a view.

import {start} from './shell.js';

start(document.getElementById('page'));
