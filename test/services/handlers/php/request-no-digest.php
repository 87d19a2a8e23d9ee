<?php
// Form fields, and no digest at all.
if (empty($_REQUEST['InvId'])) die('error: no InvId');
if ($_REQUEST['InvId'] == 'o-1') file_put_contents(getenv('PAID'), $_REQUEST['Status']);
echo 'OK';
